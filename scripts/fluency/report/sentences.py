"""The sentences of report, explorer, decision record, figures and terminal.

They are plain text; a template escapes them. What only the report says is in its templates.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from fluency.analysis.contrast import MISSING_PROGRAM, Contrast
from fluency.analysis.decision_table import (
    ALPHA,
    DIRECTION_PP,
    MIN_INFORMATIVE,
    MISSING_PROGRAM_GAP,
    NOISE_PP,
    band_of,
    edge_of,
)
from fluency.analysis.descriptive import DAYS_APART, FailureLine
from fluency.analysis.gap import GapEstimate
from fluency.analysis.power import finds, larger
from fluency.analysis.study_analysis import Analysis
from fluency.analysis.turns import Turns
from fluency.common.words import escape_controls
from fluency.core.grammar import POWERSHELL
from fluency.core.provenance import Provenance
from fluency.core.records import Control
from fluency.core.shells import SHELLS
from fluency.core.study_view import StudyView
from fluency.core.tasks import Task, task_sets
from fluency.report.markdown import code
from fluency.report.marks import FAILURES, MARKS
from fluency.report.numbers import percent, points, rate, signed, span
from fluency.report.templates import render
from fluency.report.words import listed, short_name, short_names
from fluency.scoring.windows_powershell import counted

AT_EDGE = {"ceiling": ("nearly always", "harder"), "floor": ("hardly ever", "easier")}
"""How often both shells pass there, and which tasks may show more."""
SIZES = {
    "ten-or-more": f"{DIRECTION_PP} points or more",
    "under-five": f"less than {NOISE_PP} points",
    "under-ten": f"less than {DIRECTION_PP} points",
}
MAX_NAMED, SHOWN = 3, 5


def first_of(names: Sequence[str]) -> str:
    """As `listed`; of many names the first ones and `others`."""
    return listed([*names[:MAX_NAMED], "others"] if len(names) > MAX_NAMED else names)


def telling_first(contrasts: Iterable[Contrast]) -> list[Contrast]:
    """Those at an edge after the others, and those without a verdict last."""
    return sorted(contrasts, key=lambda pair: 2 if not pair.verdict else bool(pair.verdict.edge))


# Two shells of one model.


def result_rows(analysis: Analysis) -> list[list[str]]:
    """The headers, and the results of each model.

    Of several challengers the model's name says which.
    """
    baseline, *challengers = short_names(analysis.shells_shown)
    challenger = challengers[0] if len(challengers) == 1 else "challenger"
    asked = "gap in points (95 % interval)", "what the interval shows", "what would decide it"
    rows = [["model", baseline, challenger, *asked]]
    for pair in telling_first(analysis.contrasts):
        shown = f"{signed(pair.gap.value)} ({span(pair.gap.interval)})" if pair.gap else "n/a"
        rates = [rate_cell(pair, shell) for shell in pair.shells]
        rows.append([pair.name, *rates, shown, claims_sentence(pair), would_decide(pair)])
    return rows


def headline_of(contrast: Contrast) -> str:
    """What one model did, in a line."""
    said, gap = claims_sentence(contrast), contrast.gap
    return f"{_passed(contrast.model, gap)}. {said}" if gap else f"{contrast.name}: {said}"


def _passed(name: str, gap: GapEstimate) -> str:
    """How often a model passed in each shell, and the gap."""
    shells = gap.paired.by_shell.items()
    rates = listed([f"{percent(own.rate)} in {short_name(shell)}" for shell, own in shells])
    return f"{name} passed {rates} ({signed(gap.value)} points, {span(gap.interval)})"


def rate_cell(contrast: Contrast, shell: str) -> str:
    """`61.0 % (61/100)` over the compared tasks, or the shell's own where it is not compared."""
    if shell not in contrast.tallies:
        return "not in study"
    kept = contrast.gap.paired if contrast.gap else contrast.outcomes.of(shell).paired()
    if kept:
        return rate(kept.by_shell[shell])
    return "not measured" if contrast.tallies[shell].cannot_run else "missing"


def claims_sentence(contrast: Contrast) -> str:
    """Who is ahead and by how much: what the printed interval shows, and nothing else."""
    gap = contrast.verdict
    if gap is None:
        return f"Not compared: {'; '.join(contrast.refused)}."
    who = short_name(contrast.shells[gap.ahead == "challenger"])
    said = f"{who} is ahead" if gap.ahead else "Who is ahead is open"
    passed, others = AT_EDGE[gap.edge or "floor"]
    if gap.size != "open":
        said += f", by {SIZES[gap.size]}" if gap.ahead else f"; the gap is {SIZES[gap.size]}"
        if gap.edge:
            said += f" on these tasks, which both pass {passed}; {others} tasks may differ"
    elif gap.edge:
        said += f"; both pass these tasks {passed}, so {others} ones may differ by more"
    elif gap.ahead:
        said += f"; perhaps by less than the {DIRECTION_PP} points the table asks for"
    if gap.supported:
        said += f". By the decision table: {contrast.words[gap.band].reading}"
    return f"{'On what was measured: ' if gap.provisional else ''}{said}."


def would_decide(contrast: Contrast) -> str:
    """What would settle what the interval leaves open, with tasks and dollars."""
    gap = contrast.verdict
    if gap is None or gap.provisional:
        return "the missing runs"
    if gap.size != "open":
        return "decided"
    if gap.edge:
        return f"{AT_EDGE[gap.edge][1]} tasks"
    tasks, needed = len(gap.paired.tasks), gap.needed
    if needed is None:
        return "other tasks"
    more = needed.ahead if needed.ahead > tasks else needed.no_difference
    said = f"about {max(1, more - tasks)} more tasks like these"
    if size := larger(tasks):
        usd = contrast.usd_per_task
        share = finds(gap.spread, size, gap.near_edge)
        price = f" for ${usd * size:.2f}" if usd else ""
        said += f"; the bank's {size}{price} find 10 points in {100 * share:.0f} of 100 studies"
    return said


def missing_programs(contrast: Contrast, failures: Iterable[FailureLine]) -> str:
    """Whether the sandbox may favour a shell by the programs it lacks; empty if not."""
    lacked = {line.failure_class: line.counts for line in failures}.get(MISSING_PROGRAM, {})
    shares = {
        Fraction(lacked.get(shell, 0), tally.measured): shell
        for shell, tally in contrast.tallies.items()
        if shell in contrast.shells and tally.measured
    }
    least, most = min(shares, default=Fraction()), max(shares, default=Fraction())
    if most - least < MISSING_PROGRAM_GAP:
        return ""
    return (
        f"The sandbox may favour {short_name(shares[least])}: failures for a program that other "
        f"machines have and this sandbox lacks differ by {points(most - least)} points. The "
        "sensitivities have the gap with those runs left out, and with them counted as passed."
    )


def windows_powershell(contrast: Contrast) -> str:
    """How many passing answers in PowerShell need version 7; empty without any."""
    rows = contrast.rows
    chosen = rows["shell"].isin(
        shell for shell in contrast.shells if SHELLS[shell].grammar == POWERSHELL
    )
    own = rows["made_of"].isin(["cmdlets-only", "no-commands"])
    found = counted(rows["command"][chosen & own & rows["passed"].fillna(False)])
    if not found:
        return ""
    return (
        f"Of {found.total()} PowerShell answers that passed without Unix programs, {found[True]} "
        f"use what Windows PowerShell 5.1 lacks; not decided: {found[None]}."
    )


def largest_gaps(
    contrast: Contrast, ends: Mapping[tuple[str, str], Sequence[str]]
) -> list[list[str]]:
    """Tasks, passes in both shells, and how the losing shell failed there most often."""
    rows = list[list[str]]()
    if contrast.gap is None:
        return rows
    paired = contrast.gap.paired
    passes = [
        [f"{count}/{size}" for count, size in zip(*counts, strict=True)]
        for counts in paired.by_shell.values()
    ]
    apart = zip(paired.differences, paired.tasks, *passes, strict=True)
    for gap, task, *shown in sorted(apart, key=lambda row: (-abs(row[0]), row[1]))[:SHOWN]:
        if gap:
            counts = Counter(ends[task, contrast.shells[gap < 0]])
            worst = next(end for end, _ in counts.most_common() if end not in MARKS)
            rows.append([task, *shown, FAILURES[worst][1]])
    return rows


# The study.


def printed(analysis: Analysis, view: StudyView, folder: Path) -> str:
    """The first page for a terminal, with the paths of report and explorer."""
    lines = ["", decides(analysis), ""]
    lines += [f"  {headline_of(pair)}" for pair in telling_first(analysis.contrasts)]
    lines += ["", " ".join(study_sentences(analysis, view))]
    lines += unexpected_controls(view.control)
    lines += [f"Report:   {folder / 'report.html'}", f"Explorer: {folder / 'explorer.html'}"]
    return escape_controls("\n".join(lines))


def set_around(tasks: Sequence[Task]) -> tuple[str, list[str]]:
    """The smallest named set with all these tasks, and its tasks that are not among them."""
    ids, sets = {task.id for task in tasks}, task_sets()
    around = [(len(of.tasks), name) for name, of in sets.items() if ids <= {*of.tasks}]
    _, name = min(around, default=(0, ""))
    return name, [task for task in sets[name].tasks if task not in ids] if name else []


def study_sentences(analysis: Analysis, view: StudyView) -> list[str]:
    """The design, what of it is missing, what a reader has to know, whether it was registered."""
    verdicts = [pair for pair in analysis.contrasts if pair.verdict]
    name, dropped = set_around(view.tasks)
    values = {
        "analysis": analysis,
        "study": analysis.study,
        "view": view,
        "set": name,
        "tallies": [(m.model, *item) for m in analysis.models for item in m.tallies.items()],
        "shells": SHELLS,
        "first_of": first_of,
        "second_look": second_look,
        "compared": len({(analysis.study.model(p.model).id, p.shells) for p in verdicts}),
        "alpha": ALPHA,
        "dropped": dropped,
        "days_apart": DAYS_APART,
        "registered": registered(view.provenance),
        "unofficial": sorted(
            {
                (short_name(shell), image.archives.get(shell, "unknown")[:16])
                for image in view.provenance.images
                for shell in image.unofficial
            }
        ),
    }
    return render("facts.lines.j2", values).splitlines()


def decides(analysis: Analysis) -> str:
    """What may be decided: the first line of the report, with the numbers."""
    pairs = telling_first(analysis.contrasts)
    compared = [(pair, gap) for pair in pairs if (gap := pair.verdict)]
    if not compared:
        return _compares_nothing(analysis)
    said = [headline_of(pair) for pair, _ in compared]
    sides = {(pair.shells, gap.ahead) for pair, gap in compared if gap.ahead}
    if len(sides) > len({shells for shells, _ in sides}):
        said.append("The models disagree.")
    elif not any(gap.supported for _, gap in compared):
        said.append("Nothing here supports a change of policy.")
    if refused := [pair.name for pair in analysis.contrasts if pair.refused]:
        said.append(f"Not compared: {listed(refused)}.")
    if any(gap.provisional for _, gap in compared):
        said.append("Missing runs could still change this: finish the study before deciding.")
    return " ".join(said)


def _compares_nothing(analysis: Analysis) -> str:
    measured = {
        shell for m in analysis.models for shell, tally in m.tallies.items() if tally.measured
    }
    lacking = [shell for shell in analysis.shells_shown if shell not in measured]
    if not lacking:
        return "Too little was measured for a verdict: this report decides nothing."
    were = "was" if len(lacking) == 1 else "were"
    return f"{listed(short_names(lacking))} {were} not measured here: this report compares nothing."


def second_look(turns: Turns) -> str:
    """The gap at the last turn, and in which shells a second look helped or harmed."""
    gap, name = turns.gaps[-1], f"After {len(turns.gaps)} turns {turns.model}"
    if gap is None:
        return f"{name} is not compared: no task has enough measured runs."
    ahead = short_name([*gap.paired.by_shell][gap.ahead == "challenger"])
    said = f"{ahead} is then ahead" if gap.ahead else "who is then ahead is open"
    for verb, side in (("helped", 1), ("harmed", -1)):
        changed = [
            short_name(shell)
            for shell, change in turns.changes.items()
            if min(side * end for end in change.interval) > 0
        ]
        said += f"; the second look {verb} in {listed(changed)}" if changed else ""
    return f"{_passed(name, gap)}: {said}."


def registered(provenance: Provenance) -> str:
    """Whether the study was announced, and before its first answer."""
    made = provenance.registration
    if made is None:
        return "Exploratory: not registered in advance"
    return {
        None: "Registered at a time that is not known",
        True: "Registered in advance",
        False: "Exploratory: registered after its first answer",
    }[made.precedes(provenance.first_answer_utc)]


def could_change(analysis: Analysis) -> dict[str, list[str]]:
    """Model -> what would change its result, a sentence for each; nothing for models at an edge."""
    return {
        pair.name: said
        for pair in telling_first(analysis.contrasts)
        if (gap := pair.verdict) and not gap.edge
        if (said := _could_change(pair, gap, analysis.categories))
    }


def _could_change(pair: Contrast, gap: GapEstimate, categories: dict[str, str]) -> list[str]:
    parts = [
        f"{nouns} {first_of(out.flips)}"
        for nouns, out in (("tasks", gap.leave_out()), ("categories", gap.leave_out(categories)))
        if out and out.flips
    ]
    parts += [
        f"tasks that lean to {listed(short_names(less.names))}"
        for less in pair.without
        if less.gap and band_of(less.gap.value) != gap.band
    ]
    values = {"pair": pair, "gap": gap, "parts": parts, "least": MIN_INFORMATIVE}
    return render("could_change.lines.j2", values | {"edge_of": edge_of}).splitlines()


def unexpected_controls(control: Control | None) -> list[str]:
    """A sentence for each reference command that failed, and each wrong one that passed."""
    return [
        f"{SHELLS[run.shell].title}, {run.task}: the {run.kind} command {code(run.command)} "
        f"{'passed' if run.passed else 'failed'}: {code(run.why)}"
        for run in (control.runs if control else [])
        if not run.as_it_must
    ]
