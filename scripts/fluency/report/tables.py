"""Every table of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from fluency.analysis.descriptive import CategoryLine, Spread
from fluency.analysis.gap import TableReading
from fluency.analysis.outcomes import Rate
from fluency.analysis.pass_at_k import ShareOfTasks
from fluency.analysis.robustness import conditions_of
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.analysis.subgroups import GAP, AliasPair, RateChange, Subset
from fluency.analysis.times import Quartiles
from fluency.core.records import Control
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS, Condition
from fluency.report.markdown import code, table, text
from fluency.report.marks import FAILURES, MARKS, mark_of
from fluency.report.numbers import percent, points, seconds, signed, span
from fluency.report.sentences import listed, short_names, side_name, telling_first, too


def first_table(analysis: Analysis) -> str:
    """The first page's: rates, gap, who is ahead and what the decision table says, a row for each model."""
    rates = short_names(analysis.shells_shown)
    headers = ["model", *rates, "gap in points (95 % interval)", "who is ahead", "decision table"]
    rows = [
        [
            model.model,
            *(rate_cell(model, shell, brief=True) for shell in analysis.shells_shown),
            *_found(model),
        ]
        for model in telling_first(analysis)
    ]
    return table(headers, rows, "l" + "r" * (len(rates) + 1))


def _found(model: ModelAnalysis) -> list[str]:
    gap, reading = model.gap, model.reading
    shown = f"{signed(gap.value)} ({span(gap.interval)})" if gap else "n/a"
    if gap is None or reading.band is None:
        return [shown, "not compared", "no verdict"]
    who = side_name(gap.ahead, model.outcomes.contrast) if gap.ahead else "open"
    missing = ", on what was measured" if reading.provisional else ""
    return [shown, who + missing, judged(model, reading)]


def summary_table(analysis: Analysis) -> str:
    """All numbers that decide, a row for each model."""
    rates = [f"{SHELLS[shell].short_title} pass@1" for shell in analysis.shells_shown]
    under = [condition.title for condition in _summarised(analysis)]
    intervals = ["95 % interval", "these tasks"]
    headers = [
        "model",
        "runs measured",
        *rates,
        "gap, pp",
        *under,
        *intervals,
        "decision table",
    ]
    return table(
        headers,
        [_summary(analysis, model) for model in analysis.models],
        "l" + "r" * (len(headers) - 2),
    )


def _summarised(analysis: Analysis) -> list[Condition]:
    return [condition for condition in conditions_of(analysis.contrast) if condition.in_summary]


def _summary(analysis: Analysis, model: ModelAnalysis) -> list[str]:
    """Runs measured, pass@1 of each shell, gap, intervals, p, verdict."""
    planned = sum(tally.planned for tally in model.tallies.values())
    measured = sum(tally.measured for tally in model.tallies.values())
    row = [
        model.model,
        f"{measured}/{planned}",
        *(rate_cell(model, shell) for shell in analysis.shells_shown),
    ]
    gap = model.gap
    under = [model.under(condition) for condition in _summarised(analysis)]
    if gap is None:
        return [*row, *["n/a"] * (3 + len(under)), "no verdict"]
    return [
        *row,
        signed(gap.value),
        *(signed(found.paired.gap) if found else "n/a" for found in under),
        span(gap.interval),
        "undefined" if gap.fixed is None else f"±{points(gap.fixed)}",
        judged(model, model.reading),
    ]


def judged(model: ModelAnalysis, reading: TableReading) -> str:
    """What the decision table says, and whether the interval supports it."""
    if reading.band is None:
        return "no verdict"
    if reading.edge:
        return f"{too(reading.edge)} to tell"
    if reading.band == "inconclusive":
        return model.words[reading.band].label
    name = side_name(reading.band, model.outcomes.contrast)
    said = "change nothing" if reading.band == "falsified" else f"mild evidence for {name}"
    return f"{said}, {'supported' if reading.supported else 'not supported'}"


def rate_cell(model: ModelAnalysis, shell: str, *, brief: bool = False) -> str:
    """`61.0 % (61/100)`, or brief `61 %`: over the compared tasks, or the shell's own where it is in no comparison."""
    if shell not in model.tallies:
        return "not in study"
    rate = model.rates[shell]
    if model.gap is not None and shell in model.outcomes.contrast:
        paired = model.gap.paired
        rate = (
            paired.baseline_rate if shell == model.outcomes.contrast[0] else paired.challenger_rate
        )
    if rate is None:
        return "not measured" if model.tallies[shell].state == "not-measured" else "missing"
    return percent(rate.value, 0) if brief else _rate(rate)


def _rate(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.passes}/{rate.scored})"


SHOWN = 5


def difference_table(model: ModelAnalysis) -> str:
    """The tasks with the largest gaps, and how the shell that is behind failed there most often; empty without any."""
    if model.gap is None:
        return ""
    paired = model.gap.paired
    apart = sorted(
        zip(paired.tasks, paired.differences, strict=True),
        key=lambda item: (-abs(item[1]), item[0]),
    )
    shells, rows = model.outcomes.contrast, []
    for task, gap in apart[:SHOWN]:
        if gap:
            behind = _how_it_failed(model, task, shells[gap < 0])
            rows.append([task, *(_passes(model, shell, task) for shell in shells), behind])
    headers = [
        f"largest gaps of {model.model}",
        *short_names(shells),
        "how the losing shell failed",
    ]
    return table(headers, rows, "lrr") if rows else ""


def _passes(model: ModelAnalysis, shell: str, task: str) -> str:
    counts, place = model.outcomes.by_shell[shell], model.outcomes.tasks.index(task)
    return f"{counts.passes[place]}/{counts.scored[place]}" if counts.scored[place] else "-"


def _how_it_failed(model: ModelAnalysis, task: str, shell: str) -> str:
    (worst, _), *_ = Counter(
        state for state in model.marks[task, shell] if state not in MARKS
    ).most_common(1)
    return FAILURES.get(worst, ("", "failed"))[1]


def decision_table(analysis: Analysis) -> str:
    """The decision table as the report prints it."""
    rows = [[words.condition, words.reading] for words in analysis.words.values()]
    return table(["gap on pass@1", "reading"], rows)


def counts_table(analysis: Analysis) -> str:
    """Cells planned, measured, missing, not measured, by model and shell, with the reasons."""
    rows = []
    for model in analysis.models:
        for shell, tally in model.tallies.items():
            reasons = "; ".join(f"{text(reason)} ({count})" for reason, count in tally.reasons[:3])
            if len(tally.reasons) > 3:
                reasons += f"; {len(tally.reasons) - 3} more"
            numbers = [tally.planned, tally.measured, tally.missing, tally.not_measured]
            rows.append([model.model, SHELLS[shell].title, *numbers, reasons or "-"])
    headers = ["model", "shell", "planned", "measured", "missing", "not measured", "why not"]
    return table(headers, rows, "llrrrrl")


def sensitivity_table(model: ModelAnalysis) -> str:
    """The gap under each definition of a pass."""
    shells = short_names(model.outcomes.contrast)
    rows = []
    for line in model.sensitivities:
        found = line.estimate
        if found is None:
            rows.append([line.label, *["n/a"] * 4, "no task was measured this way in both shells"])
            continue
        rates = [_rate(found.paired.baseline_rate), _rate(found.paired.challenger_rate)]
        shown = [signed(found.paired.gap), span(found.interval)]
        by_table = f"{model.words[found.band].label}, {len(found.paired.tasks)} tasks"
        rows.append([line.label, *rates, *shown, by_table])
    return table(
        ["a pass is", *shells, "gap, pp", "95 % interval", "by the table"],
        rows,
        "lrrrrl",
    )


def group_table(title: str, model: ModelAnalysis, lines: Sequence[CategoryLine]) -> str:
    """Means of groups of tasks; descriptive."""
    shells = short_names(model.outcomes.by_shell)
    rows = [
        [
            _leaning(line.category),
            line.tasks,
            *map(percent, line.rates.values()),
            signed(line.gap),
            line.differing,
        ]
        for line in lines
    ]
    return table(
        [title, "tasks", *shells, "gap, pp", "tasks that differ"],
        rows,
        "lrr" + "r" * len(shells) + "r",
    )


def _leaning(lean: str) -> str:
    return SHELLS[lean].short_title if lean in SHELLS else lean


def subset_table(title: str, model: ModelAnalysis, subsets: Sequence[Subset]) -> str:
    """The gap and the verdict of parts of the tasks; the first line is the headline."""
    whole = [("all", len(model.outcomes.tasks), model.gap, model.reading)]
    parts = [
        (listed([_leaning(name) for name in part.names]), part.tasks, part.gap, part.reading)
        for part in subsets
    ]
    rows = []
    for name, tasks, gap, reading in whole + parts:
        shown = [signed(gap.value), span(gap.interval)] if gap else ["n/a"] * 2
        rows.append([name, tasks, *shown, judged(model, reading)])
    return table([title, "tasks", "gap, pp", "95 % interval", "by the table"], rows, "lrrrl")


def pass_k_table(model: ModelAnalysis) -> str:
    """pass@k and pass^k with the tasks they are defined for."""
    shells, found = short_names(model.outcomes.by_shell), model.pass_k
    rows = [
        [
            f"pass{sign}{found.k}",
            *map(_share_of_tasks, shares.values()),
            "n/a" if gap is None else signed(gap),
        ]
        for sign, shares, gap in (
            ("@", found.any_of, found.any_gap),
            ("^", found.all_of, found.all_gap),
        )
    ]
    return table(["measure", *shells, "gap, pp"], rows, "lr" + "r" * len(shells))


def _share_of_tasks(share: ShareOfTasks) -> str:
    if share.value is None or share.interval is None:
        return "n/a"
    low, high = share.interval
    return f"{percent(share.value)} of {share.tasks} tasks ({percent(low)} to {percent(high)})"


def task_table(analysis: Analysis, model: ModelAnalysis) -> str:
    """One row a task: a mark for each trial in each shell, and the passes."""
    rows = []
    for task in analysis.tasks:
        row = [task, analysis.categories[task]]
        for shell in model.outcomes.by_shell:
            row += ["".join(map(mark_of, model.marks[task, shell])), _passes(model, shell, task)]
        rows.append(row)
    headers = [
        header
        for shell in model.outcomes.by_shell
        for header in (SHELLS[shell].short_title, "passes")
    ]
    return table(["task", "category", *headers], rows, "ll" + "lr" * len(model.outcomes.by_shell))


def composition_table(model: ModelAnalysis) -> str:
    """What the answers of each shell are made of, pass rates, and passes under each further condition."""
    under = [
        c
        for c in EXTRA_CONDITIONS
        if any(c in SHELLS[shell].conditions for shell in model.outcomes.by_shell)
    ]
    rows = []
    for shell, made in model.composition.items():
        for line in made.lines:
            counts = [
                (line.passed, line.measured),
                *(line.passed_under[condition.name] for condition in under),
            ]
            passes = [f"{passed}/{of}" if of else "not run" for passed, of in counts]
            rows.append(
                [SHELLS[shell].title, line.made_of, f"{line.answers}/{made.answers}", *passes]
            )
        if made.without_command:
            none = ["-"] * (1 + len(under))
            rows.append(
                [
                    SHELLS[shell].title,
                    "not classified",
                    f"{made.without_command}/{made.answers}",
                    *none,
                ]
            )
    passes = ["passed", *(f"passed {condition.title}" for condition in under)]
    return table(["shell", "made of", "answers", *passes], rows, "llr" + "r" * len(passes))


def failure_table(model: ModelAnalysis) -> str:
    """Failure classes with their counts and a link to an example."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    rows = []
    for line in model.failures:
        numbers = [
            f"{count}/{measured[shell]}" if shell in measured else "not measured"
            for shell, count in line.counts.items()
        ]
        cell = line.example.cell.path
        rows.append([line.failure_class, *numbers, f"[{cell}](explorer.html#{cell})"])
    shells = short_names(model.outcomes.by_shell)
    return table(["failure class", *shells, "example cell"], rows, "l" + "r" * len(shells))


def time_table(model: ModelAnalysis) -> str:
    """The three times of each shell."""
    rows = []
    for shell in model.tallies:
        own = model.times.by_shell[shell]
        passes = f"{own.passes}/{own.scored}" if own.scored else "not measured"
        first = (
            f"{seconds(own.t_first)} ({own.first_tasks} tasks)"
            if own.t_first is not None
            else "n/a"
        )
        never = f"{own.never_passed}/{own.tasks}" if own.tasks else "n/a"
        spreads = [_quartiles(own.t_run), _quartiles(own.t_exec)]
        rows.append([SHELLS[shell].title, passes, *spreads, first, seconds(own.expected), never])
    headers = ["shell", "passes", "T_run, median (quartiles)", "t_exec, median (quartiles)"]
    headers += ["T_first, restricted mean, same tasks", "ERT, median task", "tasks never passed"]
    return table(headers, rows, "lrrrrrr")


def drift_table(model: ModelAnalysis) -> str:
    """Passes and median time of generation of each shell, by slices of the time of asking."""
    headers = [
        f"{SHELLS[shell].title}, {what}" for shell in model.tallies for what in ("passes", "t_gen")
    ]
    rows = []
    for piece in model.drift:
        row = [text(f"{piece.first_utc[:16]} to {piece.last_utc[:16]}")]
        for own in piece.by_shell.values():
            row += [f"{own.passes}/{own.scored}", seconds(own.t_gen)]
        rows.append(row)
    return table(["answered, UTC", *headers], rows, "l" + "r" * len(headers))


def _quartiles(spread: Quartiles | None) -> str:
    return (
        f"{seconds(spread.median)} ({seconds(spread.low)} to {seconds(spread.high)})"
        if spread
        else "n/a"
    )


def limits_table(model: ModelAnalysis) -> str:
    """Cells of each shell that met a limit, then median and largest of what was used."""
    rows = []
    for shell, own in model.resources.items():
        if not own.executed:
            rows.append([SHELLS[shell].title, 0, *["n/a"] * 7])
            continue
        used = [
            _used(own.memory_bytes, _mb),
            _used(own.cpu_s, seconds),
            _used(own.processes, "{:.0f}".format),
        ]
        numbers = [own.executed, own.timed_out, own.limited, own.truncated]
        rows.append([SHELLS[shell].title, *numbers, *used, _used(own.written_bytes, _mb)])
    headers = ["shell", "executed", "past the deadline", "resource limits", "output cut"]
    headers += ["memory, MB", "CPU time", "processes", "written, MB"]
    return table(headers, rows, "lrrrrrrrr")


def _used(most: Spread | None, shown: Callable[[float], str]) -> str:
    return "n/a" if most is None else f"{shown(most.median)}, most {shown(most.largest)}"


def _mb(value: float) -> str:
    return f"{value / 2**20:.1f}" if value < 10 << 20 else f"{value / 2**20:.0f}"


def control_table(control: Control) -> str:
    """A row a shell: references and wrong commands that passed, of those that ran."""
    rows = []
    for shell in control.shells():
        counts = [_passed(control, shell, kind) for kind in ("reference", "wrong")]
        rows.append([SHELLS[shell].title, *counts, text(control.not_measured.get(shell, "-"))])
    return table(
        ["shell", "references that passed", "wrong commands that passed", "why not"], rows, "lrr"
    )


def control_sentence(control: Control) -> str:
    """The table in one line, for a terminal."""
    parts = []
    for shell in control.shells():
        right, wrong = (_passed(control, shell, kind) for kind in ("reference", "wrong"))
        measured = f"{right} references and {wrong} wrong commands passed"
        parts.append(
            f"{SHELLS[shell].short_title} {'not measured' if shell in control.not_measured else measured}"
        )
    return f"Control: {', '.join(parts)}."


def _passed(control: Control, shell: str, kind: str) -> str:
    runs = control.of(shell, kind)
    return f"{sum(run.passed for run in runs)} of {len(runs)}" if runs else "not measured"


def unexpected_controls(control: Control) -> list[str]:
    """A sentence for each command that did not come out as it must."""
    return [
        f"{SHELLS[run.shell].title}, {text(run.task)}: the {run.kind} command {code(run.command)} "
        f"{'passed' if run.passed else 'failed'}: {code(run.why)}"
        for run in control.runs
        if not run.as_it_must
    ]


def pair_tables(analysis: Analysis) -> str:
    """A heading and a table for each pair."""
    return "\n\n".join(
        f"**{text(pair.model_id)}**\n\n{_pair_table(pair)}" for pair in analysis.pairs
    )


def _pair_table(pair: AliasPair) -> str:
    return change_table(pair.changes, (text(pair.first), text(pair.second)))


def change_table(changes: Sequence[RateChange], names: tuple[str, str]) -> str:
    """Rates of shells and gaps measured twice, and the interval of their change."""
    rows = []
    for found in changes:
        is_gap = found.what == GAP
        shown = signed if is_gap else percent
        name = "gap of the shells" if is_gap else f"{SHELLS[found.what].short_title} pass@1"
        rows.append(
            [
                name,
                shown(found.before),
                shown(found.after),
                signed(found.change),
                span(found.interval),
                f"{found.differing} of {found.tasks}",
            ]
        )
    headers = ["", *names, "change, pp", "95 % interval", "changed tasks"]
    return table(headers, rows, "lrrrrr")
