"""The first page: what may be decided, a line for each model, what could change it, and how it was measured.

Sentences are plain text, for a terminal too; a template escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from fluency.analysis.decision_table import (
    ALPHA,
    DIRECTION_PP,
    DIRECTIONS,
    MIN_INFORMATIVE,
    NOISE_PP,
    Direction,
    band_of,
    edge_of,
)
from fluency.analysis.descriptive import DAYS_APART
from fluency.analysis.gap import GapEstimate, TableReading
from fluency.analysis.robustness import conditions_of
from fluency.analysis.simulated import STOPPING
from fluency.analysis.study_analysis import Analysis, ModelAnalysis, analyse
from fluency.common.words import escape_controls, plural
from fluency.core.provenance import Provenance
from fluency.core.shells import CONDITIONS, SHELLS
from fluency.core.study import Study
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name, task_sets
from fluency.report.numbers import signed
from fluency.report.sentences import (
    listed,
    model_sentence,
    short_names,
    side_name,
    telling_first,
    unofficial_builds,
)
from fluency.report.tables import control_sentence

TEN, FIVE = f"{DIRECTION_PP} points or more", f"{NOISE_PP} points or more"


def printed(frame: pd.DataFrame, view: StudyView, folder: Path) -> str:
    """The page's lines for a terminal, with the paths of report and explorer."""
    analysis = analyse(frame, view.study, view.tasks)
    lines = ["", decides(analysis), ""]
    lines += [f"  {model.model} {model_sentence(model)}" for model in telling_first(analysis)]
    lines += ["", " ".join(study_sentences(analysis, view))]
    if view.control:
        lines.append(control_sentence(view.control))
    lines += [f"Report:   {folder / 'report.md'}", f"Explorer: {folder / 'explorer.html'}"]
    return escape_controls("\n".join(lines))


def decides(analysis: Analysis) -> str:
    """What may be decided: the first line of the report."""
    judged = [model for model in analysis.models if model.reading.band]
    if not judged:
        return _compares_nothing(analysis)
    said = _capital("; ".join(_policy(analysis))) + "."
    changed = _named(analysis, lambda gap, reading: _proposes(gap, reading) is not None)
    if changed and len(changed) < len(analysis.models):
        said += f" The change is supported for {listed(changed)} only."
    if unfinished := [model.model for model in judged if model.reading.provisional]:
        said += (
            f" Missing runs could still change the verdict for {listed(unfinished)}: "
            "finish the study before deciding."
        )
    return said


def _compares_nothing(analysis: Analysis) -> str:
    measured = {
        shell
        for model in analysis.models
        for shell, tally in model.tallies.items()
        if tally.measured
    }
    lacking = [shell for shell in analysis.contrast if shell not in measured]
    if not lacking:
        return "Too little was measured for a verdict: this report decides nothing."
    were = "was" if len(lacking) == 1 else "were"
    return f"{listed(short_names(lacking))} {were} not measured here: this report compares nothing."


def _proposes(gap: GapEstimate, reading: TableReading) -> Direction | None:
    """The direction whose row of the table is supported."""
    return gap.ahead if reading.supported and gap.band in DIRECTIONS else None


def _named(analysis: Analysis, chosen: Callable[[GapEstimate, TableReading], bool]) -> list[str]:
    """The models with a verdict of which something holds."""
    return [
        model.model
        for model in analysis.models
        if model.gap and model.reading.band and chosen(model.gap, model.reading)
    ]


def _is_ahead(side: Direction, gap: GapEstimate, _: TableReading) -> bool:
    return gap.ahead == side


def _policy(analysis: Analysis) -> Iterator[str]:
    """What is said of the models, each named once: by row of the table and who is ahead."""
    ahead = {side: _named(analysis, partial(_is_ahead, side)) for side in DIRECTIONS}
    if all(ahead.values()):
        yield "the models disagree"
    elif not any(ahead.values()) and not _named(analysis, lambda gap, reading: reading.supported):
        yield "nothing in this study supports a change of policy"
    for side in DIRECTIONS:
        yield from _of_side(analysis, side)
    alike = _named(analysis, lambda gap, reading: reading.supported and gap.band == "falsified")
    if alike:
        yield f"no difference of {FIVE}{_for(analysis, alike)}: change nothing"
    undecided = _named(
        analysis,
        lambda gap, reading: (
            not gap.ahead
            and not reading.supported
            and (gap.band not in DIRECTIONS or gap.edge is not None)
        ),
    )
    if undecided:
        yield f"who is ahead is open{_for(analysis, undecided)}"
    if refused := [model.model for model in analysis.models if not model.reading.band]:
        yield f"not compared: {listed(refused)}"
    if all(ahead.values()):
        yield "no common change is supported"


def _of_side(analysis: Analysis, side: Direction) -> Iterator[str]:
    name = side_name(side, analysis.contrast)
    supported = _named(analysis, lambda gap, reading: _proposes(gap, reading) == side)
    if supported:
        every = _for(analysis, supported)
        yield f"{name} is ahead by {TEN}{every}: {analysis.words[side].reading}"
    by_table = _named(
        analysis,
        lambda gap, reading: gap.ahead == gap.band == side and not (reading.supported or gap.edge),
    )
    if by_table:
        yield (
            f"{name} is ahead{_for(analysis, by_table)}; whether by the {DIRECTION_PP} points that "
            "the decision table asks for is open"
        )
    other = _named(
        analysis,
        lambda gap, reading: gap.ahead == side and (gap.band != side or gap.edge is not None),
    )
    if other:
        yield (
            f"{name} is ahead{_for(analysis, other)}, on which the decision table bases no change"
        )
    label = _named(
        analysis,
        lambda gap, reading: gap.band == side and gap.ahead != side and gap.edge is None,
    )
    if label:
        yield (
            f"by the decision table {name} leads by {TEN}{_for(analysis, label)}, but the interval "
            "includes 0: no change can rest on it"
        )


def _for(analysis: Analysis, names: Sequence[str]) -> str:
    count = len(analysis.models)
    if count == 1:
        return ""
    if len(names) == count:
        return f" for every model ({count} of {count})"
    return f" for {listed(names)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def silent_sentence(model: ModelAnalysis) -> str:
    """How many failures an agent would not notice: counts, without a verdict; empty without any."""
    counts = [
        f"{found.silent} of {found.failed} in {SHELLS[shell].short_title}"
        for shell, found in model.silent.items()
        if found.failed
    ]
    if not counts:
        return ""
    return (
        f"Silent failures of {model.model}: of the commands that ran and failed, {listed(counts)} "
        "ended with status 0."
    )


def study_sentences(analysis: Analysis, view: StudyView) -> Iterator[str]:
    """The design, what of it is missing, what a reader has to know, whether it was registered."""
    tallies = [
        (model, shell, tally) for model in analysis.models for shell, tally in model.tallies.items()
    ]
    planned, measured = (
        sum(getattr(tally, what) for *_, tally in tallies) for what in ("planned", "measured")
    )
    design = [
        (len(analysis.shells), "shell"),
        (analysis.trials, "trial"),
        (len(analysis.models), "model"),
    ]
    named = set_name([task.id for task in view.tasks]) or "no named set"
    yield (
        f"{plural(len(analysis.tasks), 'task')} ({named}) × "
        f"{' × '.join(plural(number, noun) for number, noun in design)}, "
        f"{measured} of {planned} runs measured."
    )
    if missing := [
        f"{tally.missing} of {tally.planned} in {SHELLS[shell].short_title} for {model.model}"
        for model, shell, tally in tallies
        if tally.missing
    ]:
        yield f"Missing: {', '.join(missing)}."
    for shell in dict.fromkeys(s for _, s, tally in tallies if tally.state == "not-measured"):
        yield f"To measure {SHELLS[shell].short_title}, {SHELLS[shell].install_hint}."
    yield from _several_models(analysis, view.study)
    yield from _about_tasks(analysis, view)
    yield from _about_times(analysis)
    yield _registered(view.study, view.provenance)
    yield from unofficial_builds(view.provenance)


def _several_models(analysis: Analysis, study: Study) -> Iterator[str]:
    """How often one of several models would be called ahead by chance; aliases are one model."""
    ids = {model.alias: model.id for model in study.models}
    judged = {ids.get(m.model, m.model) for m in analysis.models if m.reading.band}
    if (count := len(judged)) > 1:
        yield (
            f"With {count} models of no true gap, one or more would be called ahead in up to "
            f"{100 * (1 - (1 - ALPHA) ** count):.0f} % of studies."
        )


def _about_tasks(analysis: Analysis, view: StudyView) -> Iterator[str]:
    leans = {task.lean for task in view.tasks}
    if len(leans) == 1 and (lean := leans.pop()) in analysis.contrast:
        yield (
            f"All tasks lean to {SHELLS[lean].short_title} by their authors' declaration, which "
            "alone can make a gap."
        )
    chosen, sets = {task.id for task in view.tasks}, task_sets()
    whole = [
        (len(found.tasks), name, [task for task in found.tasks if task not in chosen])
        for name, found in sets.items()
        if chosen <= set(found.tasks) and len(found.tasks) < 2 * len(chosen)
    ]
    if whole:
        size, name, dropped = min(whole)
        if dropped:
            listing = listed(dropped[:MAX_NAMED] + ["others"] * (len(dropped) > MAX_NAMED))
            yield f"{len(dropped)} of the {size} tasks of {name} were dropped: {listing}."


def _about_times(analysis: Analysis) -> Iterator[str]:
    later = [(model.model, list(map(str, model.trials_added_later))) for model in analysis.models]
    if grew := [f"{listed(trials)} for {name}" for name, trials in later if trials]:
        yield (
            f"The study grew after its first answers (trials beyond {', '.join(grew)}): looking in "
            f"between finds a difference where there is none in up to {STOPPING} of studies."
        )
    baseline, challenger = short_names(analysis.contrast)
    for name, order in analysis.orders.items():
        apart = order.days_apart
        if apart is not None and abs(apart) >= DAYS_APART:
            first, second = (challenger, baseline) if apart < 0 else (baseline, challenger)
            yield (
                f"The shells were asked on different days for {name}: {second} {abs(apart):.1f} "
                f"days after {first} on average, so a change of the service looks like a gap."
            )
        if order.state == "departed":
            late = [f"{count} in {SHELLS[s].short_title}" for s, count in order.late.items()]
            yield (
                f"Asked much later than planned, or again, for {name}: {listed(late)}. Asking again "
                "only what failed would show here."
            )


def _registered(study: Study, provenance: Provenance) -> str:
    made = provenance.registration
    if made is None:
        return f"Exploratory: not registered in advance{'' if study.decision else ', and no decision named'}."
    among = f" The registration is {made.among}." if made.among else ""
    if made.precedes(provenance.first_answer_utc) is False:
        return f"Exploratory: registered after its first answer.{among}"
    if count := len(provenance.deviations):
        return (
            f"Registered, but it departs from its registration in {plural(count, 'point')}.{among}"
        )
    return f"Registered {'in advance, no deviations' if made.utc else 'at a time that is not known'}.{among}"


HOW = {
    "lenient": "with commands taken out of prose",
    "structural": "by structure alone",
    "exit": "by exit status alone",
    "output": "by output alone",
    "no_refusals": "with refusals left out",
    "no_delegation": "with answers that call another shell failed",
    "missing_left_out": "with answers that lack a program left out",
    "missing_passed": "with answers that lack a program passed",
} | {condition.name: condition.title for condition in CONDITIONS.values()}
"""Key of a definition of a pass -> how it counts."""
MAX_NAMED = 3


def could_change(analysis: Analysis) -> dict[str, list[str]]:
    """Model -> what would change its result, a sentence for each; nothing for models at an edge."""
    said = {
        model.model: [*_other_definitions(model, model.gap), *_other_tasks(model, model.gap)]
        for model in analysis.models
        if model.gap and model.reading.band and not model.reading.edge
    }
    return {model: sentences for model, sentences in said.items() if sentences}


def _other_definitions(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    other: dict[str, list[str]] = {}
    for line in model.sensitivities:
        if (found := line.estimate) and found.band != gap.band:
            ways = other.setdefault(model.words[found.band].label, [])
            ways.append(f"{HOW[line.key]}{'' if ways else ' gives'} {signed(found.paired.gap)}")
    for label, ways in other.items():
        yield f"Counting a pass {', '.join(ways)}: the decision table would say {label}."
    for condition in conditions_of(model.outcomes.contrast):
        found = model.under(condition)
        if condition.in_summary and found is None:
            yield f"The gap {condition.title} was not measured."
        elif condition.in_summary and found and found.band == gap.band:
            same = " as well" if found.paired.gap == gap.value else ""
            yield f"The gap {condition.title} is {signed(found.paired.gap)}{same}."
    if model.reading.provisional:
        low, high = gap.bounds
        yield (
            f"The missing runs could move the gap to anything from {signed(low)} to {signed(high)}."
        )


def _other_tasks(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    flat = gap.flat
    if flat.informative < max(MIN_INFORMATIVE, flat.compared // 2):
        kinds = {"always solved in both": flat.always, "never solved in either shell": flat.never}
        how = " or ".join(words for words, tasks in kinds.items() if tasks)
        needed = ""
        if gap.needed and not gap.ahead:
            needed = (
                f" About {gap.needed.ahead} tasks of this kind would show who is ahead if the gap "
                f"is {DIRECTION_PP}."
            )
        yield (
            f"Only {flat.informative} of {flat.compared} tasks can tell; the others were "
            f"{how}.{needed}"
        )
    if model.sets:
        gaps = [
            f"{listed(part.names)} {signed(part.gap.value) if part.gap else 'n/a'}"
            for part in model.sets
        ]
        yield f"The gap by set of tasks: {', '.join(gaps)}."
    parts = [
        f"{nouns} {', '.join([*out.flips[:MAX_NAMED], *['…'] * (len(out.flips) > MAX_NAMED)])}"
        for out, nouns in ((gap.tasks_out, "tasks"), (gap.categories_out, "categories"))
        if out and out.flips
    ]
    parts += [
        f"tasks that lean to {listed(short_names(less.names))}"
        for less in model.without
        if less.gap and band_of(less.gap.value) != gap.band
    ]
    if parts:
        yield f"Removing any one of these changes what the decision table says: {'; '.join(parts)}."
    for shell, rate in zip(model.outcomes.contrast, gap.paired.rates, strict=True):
        if edge := edge_of(rate):
            most = "nearly nothing" if edge == "floor" else "nearly everything"
            yield f"{SHELLS[shell].short_title} passes {most}, which draws the gap towards 0."


def how_measured(analysis: Analysis, view: StudyView) -> Iterator[str]:
    """How a run was made and judged, in a few sentences."""
    worlds = len(view.study.seeds)
    each = (
        "a fresh container without network, in a generated world"
        if worlds == 1
        else (f"{worlds} fresh containers without network, in {worlds} generated worlds")
    )
    where = {1: "", 2: " in both"}.get(worlds, " in all of them")
    yield f"Each command ran as written in {each}; it passes if it exits with 0 and prints the right answer{where}."
    yield "Prompts differ in one line, the shell's."
    sampling = view.provenance.sampling.values()
    if sent := dict.fromkeys(t for sent in sampling for t in sent.temperature_sent):
        yield f"Temperature {' or '.join(sent)}."
    if analysis.orders and all(o.state in ("kept", "resumed") for o in analysis.orders.values()):
        yield "Shells, tasks and trials were asked in one mixed, seeded order."
    found = {
        (name, version)
        for image in view.provenance.images
        for name, version in image.shells.items()
    }
    if versions := [
        f"{SHELLS[name].short_title} {version.split('(')[0]}"
        for name, version in sorted(found)
        if name in SHELLS and version
    ]:
        yield f"{', '.join(versions)}."
    yield "Not measured: follow-up on errors, safety, any other language, Windows."
