"""Every table of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fluency.analysis.outcomes import Rate
from fluency.analysis.pass_at_k import ShareOfTasks
from fluency.analysis.robustness import conditions_of
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.analysis.subgroups import GAP, RateChange, Subset
from fluency.analysis.times import Quartiles
from fluency.core.records import Control
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS
from fluency.report.markdown import code, table, text
from fluency.report.marks import FAILURES, MARKS, mark_of
from fluency.report.numbers import percent, points, seconds, signed, span
from fluency.report.sentences import (
    cell_link,
    judged,
    listed,
    short_names,
    side_name,
    telling_first,
)


def first_table(analysis: Analysis) -> str:
    """The first page's: rates, gap, who is ahead and what the decision table says, a row for each model."""
    rates = short_names(analysis.shells_shown)
    headers = ["model", *rates, "gap in points (95 % interval)", "who is ahead", "decision table"]
    rows = []
    for model in telling_first(analysis):
        gap, reading = model.gap, model.reading
        who = side_name(gap.ahead, model.outcomes.contrast) if gap and gap.ahead else "open"
        if reading.band is None:
            who = "not compared"
        rows.append(
            [
                model.model,
                *(rate_cell(model, shell, brief=True) for shell in analysis.shells_shown),
                f"{signed(gap.value)} ({span(gap.interval)})" if gap else "n/a",
                who + (", on what was measured" if reading.provisional else ""),
                judged(model, reading),
            ]
        )
    return table(headers, rows, "l" + "r" * (len(rates) + 1))


def summary_table(analysis: Analysis) -> str:
    """All numbers that decide, a row for each model."""
    conditions = [c for c in conditions_of(analysis.contrast) if c.in_summary]
    rates = [f"{name} pass@1" for name in short_names(analysis.shells_shown)]
    under = [condition.title for condition in conditions]
    headers = ["model", "runs measured", *rates, "gap, pp", *under, "95 % interval", "these tasks"]
    rows = []
    for model in telling_first(analysis):
        tallies, gap = model.tallies.values(), model.gap
        found = [model.under(condition) for condition in conditions]
        numbers = ["n/a"] * (3 + len(found))
        if gap:
            numbers = [
                signed(gap.value),
                *(signed(one.paired.gap) if one else "n/a" for one in found),
                span(gap.interval),
                "undefined" if gap.fixed is None else f"±{points(gap.fixed)}",
            ]
        rows.append(
            [
                model.model,
                f"{sum(t.measured for t in tallies)}/{sum(t.planned for t in tallies)}",
                *(rate_cell(model, shell) for shell in analysis.shells_shown),
                *numbers,
                judged(model, model.reading),
            ]
        )
    return table([*headers, "decision table"], rows, "l" + "r" * (len(headers) - 1))


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


def category_table(model: ModelAnalysis) -> str:
    """Means by category; descriptive."""
    shells = short_names(model.outcomes.by_shell)
    rows = []
    for line in model.categories:
        rates = map(percent, line.rates.values())
        rows.append([line.category, line.tasks, *rates, signed(line.gap), line.differing])
    headers = ["category", "tasks", *shells, "gap, pp", "tasks that differ"]
    return table(headers, rows, "l" + "r" * (len(headers) - 1)) if rows else ""


def _leaning(lean: str) -> str:
    return SHELLS[lean].short_title if lean in SHELLS else lean


def leaning_table(model: ModelAnalysis) -> str:
    """The gap and the verdict without the tasks that lean to a shell."""
    return _subset_table("left out: tasks that lean to", model, model.without)


def sets_table(model: ModelAnalysis) -> str:
    """The gap and the verdict of each set of tasks in the study."""
    return _subset_table("set", model, model.sets)


def _subset_table(title: str, model: ModelAnalysis, subsets: Sequence[Subset]) -> str:
    """The first line is the headline."""
    whole = Subset(("all",), len(model.outcomes.tasks), model.gap, model.reading)
    rows = []
    for part in (whole, *subsets):
        gap = part.gap
        shown = [signed(gap.value), span(gap.interval)] if gap else ["n/a"] * 2
        name = listed([_leaning(name) for name in part.names])
        rows.append([name, part.tasks, *shown, judged(model, part.reading)])
    headers = [title, "tasks", "gap, pp", "95 % interval", "by the table"]
    return table(headers, rows, "lrrrl") if subsets else ""


def pass_k_table(model: ModelAnalysis) -> str:
    """pass@k with the tasks it is defined for."""
    found = model.pass_k
    headers = [*short_names(found.shares), "gap, pp"]
    row = [*map(_share_of_tasks, found.shares.values())]
    row.append("n/a" if found.gap is None else signed(found.gap))
    return table(headers, [row], "r" * len(headers))


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
    shells = model.outcomes.by_shell
    under = [c for c in EXTRA_CONDITIONS if any(c in SHELLS[s].conditions for s in shells)]
    rows = []
    for shell, made in model.composition.items():
        title = SHELLS[shell].title
        for line in made.lines:
            counts = [(line.passed, line.measured)]
            counts += [line.passed_under[condition.name] for condition in under]
            passes = [f"{passed}/{of}" if of else "not run" for passed, of in counts]
            rows.append([title, line.made_of, f"{line.answers}/{made.answers}", *passes])
        if made.without_command:
            share = f"{made.without_command}/{made.answers}"
            rows.append([title, "not classified", share, *["-"] * (1 + len(under))])
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
        rows.append([line.failure_class, *numbers, cell_link(cell)])
    shells = short_names(model.outcomes.by_shell)
    return table(["failure class", *shells, "example cell"], rows, "l" + "r" * len(shells))


def time_table(model: ModelAnalysis) -> str:
    """The three times of each shell."""
    rows = []
    for shell in model.tallies:
        own = model.times[shell]
        passes = f"{own.passes}/{own.scored}" if own.scored else "not measured"
        first = (
            f"{seconds(own.t_first)} ({own.first_tasks} tasks)"
            if own.t_first is not None
            else "n/a"
        )
        never = f"{own.never_passed}/{own.tasks}" if own.tasks else "n/a"
        spreads = [_quartiles(own.t_run), _quartiles(own.t_exec)]
        rows.append([SHELLS[shell].title, passes, *spreads, first, never])
    headers = ["shell", "passes", "T_run, median (quartiles)", "t_exec, median (quartiles)"]
    headers += ["T_first, restricted mean, same tasks", "tasks never passed"]
    return table(headers, rows, "lrrrrr")


def _quartiles(spread: Quartiles | None) -> str:
    return (
        f"{seconds(spread.median)} ({seconds(spread.low)} to {seconds(spread.high)})"
        if spread
        else "n/a"
    )


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
        f"**{text(pair.model_id)}**\n\n"
        + change_table(pair.changes, (text(pair.first), text(pair.second)))
        for pair in analysis.pairs
    )


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
