"""The first page: what may be decided, a line for each model, what could change it, and where the shells differ.

Sentences are plain text, for a terminal too; a template escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from fluency.analysis.descriptive import ORDER_KEPT
from fluency.analysis.estimate import GapEstimate
from fluency.analysis.plan import (
    DIRECTION_PP,
    DIRECTIONS,
    MIN_INFORMATIVE,
    NOISE_PP,
    Band,
    Direction,
    band_of,
    edge_of,
)
from fluency.analysis.robustness import conditions_of
from fluency.analysis.simulated import STOPPING
from fluency.analysis.study_analysis import Analysis, ModelAnalysis, analyse
from fluency.common.words import escape_controls, plural
from fluency.core.provenance import Provenance
from fluency.core.shells import CONDITIONS, SHELLS
from fluency.core.study import Study
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name
from fluency.report.numbers import probability, signed, span
from fluency.report.sentences import (
    listed,
    refusal,
    short_names,
    side_name,
    telling_first,
    unofficial_builds,
    who_is_ahead,
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
    judged = [model for model in analysis.models if model.gap and model.verdict.band]
    if not judged:
        return _compares_nothing(analysis)
    sentences = [_policy(analysis, judged)]
    if open_models := [model.model for model in judged if model.verdict.provisional]:
        sentences.append(
            f"Missing runs could still change the verdict for {listed(open_models)}: finish the study before deciding."
        )
    return " ".join(sentences)


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


def _policy(analysis: Analysis, judged: list[ModelAnalysis]) -> str:
    ahead = {
        side: [model.model for model in judged if model.gap and model.gap.claims.ahead == side]
        for side in DIRECTIONS
    }
    if all(ahead.values()):
        return f"The models disagree: {listed(_by_side(analysis, ahead, 'is ahead'))}; no common change is supported."
    settled: dict[Band, list[str]] = {}
    for model in judged:
        band, verdict = model.verdict.band, model.verdict
        if band and band != "inconclusive" and verdict.resolved and not verdict.provisional:
            settled.setdefault(band, []).append(model.model)
    rest = [
        model.model
        for model in analysis.models
        if not any(model.model in names for names in settled.values())
    ]
    if settled:
        return _settled(analysis, settled, rest)
    mild = {
        side: [
            m.model
            for m in judged
            if m.verdict.band == side and not m.verdict.edge and not m.verdict.resolved
        ]
        for side in DIRECTIONS
    }
    if any(mild.values()):
        who = listed(_by_side(analysis, mild, f"is ahead by {TEN}"))
        return f"By the decision table {who}, but the data do not resolve it: no change can rest on it."
    although = "".join(f", although {who}" for who in _by_side(analysis, ahead, "is ahead"))
    return f"Nothing in this study supports a change of policy{although}."


def _by_side(analysis: Analysis, models: dict[Direction, list[str]], words: str) -> list[str]:
    return [
        f"{side_name(side, analysis.contrast)} {words} for {listed(names)}"
        for side, names in models.items()
        if names
    ]


def _settled(analysis: Analysis, settled: dict[Band, list[str]], rest: list[str]) -> str:
    """At most one of the directions is in `settled`, since models that disagree have their own sentence."""
    count = len(analysis.models)
    if not rest and len(settled) == 1:
        (band,) = settled
        if band == "falsified":
            return f"No difference of {FIVE}: change nothing."
        every = f"every model ({count} of {count})" if count > 1 else "the model"
        return f"{side_name(band, analysis.contrast)} was ahead for {every}: {analysis.words[band].reading}."
    parts = [
        f"no difference of {FIVE} for {listed(names)}"
        if band == "falsified"
        else f"{side_name(band, analysis.contrast)} was ahead for {listed(names)}: {analysis.words[band].reading}"
        for band, names in sorted(settled.items(), key=lambda item: item[0] == "falsified")
    ]
    parts += [f"undecided for {listed(rest)}"] if rest else []
    changes = [names for band, names in settled.items() if band in DIRECTIONS]
    only = f" The change is supported for {listed(changes[0])} only." if changes else ""
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}.{only}"


def model_sentence(model: ModelAnalysis) -> str:
    """What one model did, to be read after its name."""
    gap, verdict = model.gap, model.verdict
    if gap is None or verdict.band is None:
        return f"was not compared: {refusal(model)}."
    baseline, challenger = short_names(model.outcomes.contrast)
    below, above = gap.paired.baseline_rate, gap.paired.challenger_rate
    if not below.passes + above.passes:
        return "solved nothing in either shell: for this model the tasks are too hard to compare the shells."
    claims = gap.claims
    tested = (
        f", p = {probability(gap.p)}"
        if claims.edge or (claims.ahead and gap.s95.low <= 0 <= gap.s95.high)
        else ""
    )
    return (
        f"wrote a working command in {below.passes} of {below.scored} {baseline} and {above.passes} of {above.scored} "
        f"{challenger} runs: {challenger} {signed(gap.value, 0)} points (95 % interval {span(gap.s95, 0)}{tested}). "
        f"{who_is_ahead(claims, model.outcomes.contrast, verdict.provisional)}"
    )


def study_sentences(analysis: Analysis, view: StudyView) -> Iterator[str]:
    """The design, what of it is missing, and whether it was registered."""
    tallies = [
        (model, shell, tally) for model in analysis.models for shell, tally in model.tallies.items()
    ]
    planned, measured = (
        sum(getattr(tally, what) for *_, tally in tallies) for what in ("planned", "measured")
    )
    named = set_name([task.id for task in view.tasks])
    design = [
        (len(analysis.shells), "shell"),
        (analysis.trials, "trial"),
        (len(analysis.models), "model"),
    ]
    yield (
        f"{plural(len(analysis.tasks), 'task')} ({named or 'no named set'}) × "
        f"{' × '.join(plural(number, noun) for number, noun in design)}, {measured} of {planned} runs measured."
    )
    if missing := [
        f"{tally.missing} of {tally.planned} in {SHELLS[shell].short_title} for {model.model}"
        for model, shell, tally in tallies
        if tally.missing
    ]:
        yield f"Missing: {', '.join(missing)}."
    for shell in dict.fromkeys(
        shell for _, shell, tally in tallies if tally.state == "not-measured"
    ):
        yield f"To measure {SHELLS[shell].short_title}, {SHELLS[shell].install_hint}."
    later = [(model.model, list(map(str, model.trials_added_later))) for model in analysis.models]
    if grew := [f"{listed(trials)} for {name}" for name, trials in later if trials]:
        yield (
            f"The study grew after its first answers (trials beyond {', '.join(grew)}): looking in between finds a "
            f"difference where there is none in up to {STOPPING} of studies."
        )
    orders = [(name, order) for name, order in analysis.orders.items() if order.state == "departed"]
    if departed := ", ".join(f"{order.correlation:.2f} for {name}" for name, order in orders):
        late = "some answers came later, or again"
        yield f"The planned order of asking was not kept (rank correlation {departed}, below {ORDER_KEPT}): {late}."
    yield _registered(view.study, view.provenance)
    yield from unofficial_builds(view.provenance)


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
    """Model -> what its result hangs on, a sentence for each; nothing of models without a verdict or at an edge."""
    said = {
        model.model: [*_other_definitions(model, model.gap), *_other_tasks(model, model.gap)]
        for model in analysis.models
        if model.gap and model.verdict.band and not model.verdict.edge
    }
    return {model: sentences for model, sentences in said.items() if sentences}


def _other_definitions(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    other: dict[str, list[str]] = {}
    for line in model.sensitivities:
        if (found := line.estimate) and found.band != band_of(gap.value):
            ways = other.setdefault(model.words[found.band].label, [])
            ways.append(f"{HOW[line.key]}{'' if ways else ' gives'} {signed(found.paired.gap)}")
    for label, ways in other.items():
        yield f"Counting a pass {', '.join(ways)}: the table would then say {label}."
    for condition in conditions_of(model.outcomes.contrast):
        found = model.under(condition)
        if condition.in_summary and found is None:
            yield f"The gap {condition.title} was not measured."
        elif condition.in_summary and found and found.band == band_of(gap.value):
            same = " as well" if found.paired.gap == gap.value else ""
            yield f"The gap {condition.title} is {signed(found.paired.gap)}{same}."
    if model.verdict.provisional:
        low, high = gap.bounds
        yield f"The missing runs could move the gap to anything from {signed(low)} to {signed(high)}."


def _other_tasks(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    flat, tasks = gap.ceiling_and_floor, len(gap.paired.tasks)
    if flat.informative < max(MIN_INFORMATIVE, tasks // 2):
        both, neither = "always solved in both", "never solved in either shell"
        how = (
            f"{both} or {neither}"
            if flat.ceiling and flat.floor
            else both
            if flat.ceiling
            else neither
        )
        needed = ""
        if gap.needed and not gap.claims.ahead:
            needed = f" About {gap.needed.ahead} tasks of this kind would show who is ahead if the gap is {DIRECTION_PP}."
        yield f"{flat.informative} of {tasks} tasks decide; the others were {how}.{needed}"
    parts = [
        f"{nouns} {', '.join([*out.flips[:MAX_NAMED], *['…'] * (len(out.flips) > MAX_NAMED)])}"
        for out, nouns in ((gap.tasks_out, "tasks"), (gap.categories_out, "categories"))
        if out and out.flips
    ]
    parts += [
        f"tasks that lean to {listed(short_names(less.names))}"
        for less in model.without
        if less.gap and band_of(less.gap.value) != band_of(gap.value)
    ]
    if model.sets:
        gaps = [
            f"{listed(part.names)} {signed(part.gap.value) if part.gap else 'n/a'}"
            for part in model.sets
        ]
        yield f"The gap by set of tasks: {', '.join(gaps)}."
    if parts:
        yield f"Without any one of these the table would say otherwise: {'; '.join(parts)}."
    rates = (gap.paired.baseline_rate, gap.paired.challenger_rate)
    for shell, rate in zip(model.outcomes.contrast, rates, strict=True):
        if edge := edge_of(rate.value):
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
    sent = dict.fromkeys(
        t for model in analysis.models for t, _ in model.answer_summary.temperatures
    )
    if sent:
        yield f"Temperature {' or '.join(sent)}."
    orders = [order for order in analysis.orders.values() if order.state in ("kept", "resumed")]
    if orders and len(orders) == len(analysis.orders):
        least = min(order.correlation or 0.0 for order in orders)
        yield f"One mixed, seeded order of asking (rank correlation with the planned order {least:.2f})."
    found = {
        (name, version)
        for image in view.provenance.images
        for name, version in image.shells.items()
    }
    if versions := [
        f"{SHELLS[name].short_title} {(version or 'unknown').split('(')[0]}"
        for name, version in sorted(found)
        if name in SHELLS
    ]:
        yield f"{', '.join(versions)}."
    yield "Not measured: follow-up on errors, safety, any other language, Windows."
