"""What a decision maker must not miss beside the numbers: sentences for the first paragraph."""

from __future__ import annotations

from collections.abc import Iterator

from fluency.analysis.estimate import GapEstimate
from fluency.analysis.plan import DIRECTIONS, NOISE_PP, Direction, band_of, edge_of
from fluency.analysis.robustness import Change, change
from fluency.analysis.simulated import STOPPING
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS, SUMMARY_CONDITIONS
from fluency.report.numbers import signed
from fluency.report.wording import listed

CHANGES: dict[Change, str] = {
    "vanishes": f"The gap vanishes (less than {NOISE_PP} points)",
    "turns": "The gap turns round",
    "row": "The row of the table is another",
}
NAMED = 3
"""So many of the tasks without which the row is another are named; the rest stands further down."""


def model_cautions(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    """Arms at an edge, and definitions of a pass, tasks and categories on which the result hangs."""
    rates = (gap.paired.baseline_rate.value, gap.paired.challenger_rate.value)
    for shell, rate in zip(model.outcomes.contrast, rates, strict=True):
        if edge := edge_of(rate):
            yield f"{SHELLS[shell].short_title} stands at the {edge}, which biases the gap towards 0."
    changed: dict[Change, list[str]] = {}
    for line in model.sensitivities:
        if line.estimate is None:
            if line.key in SUMMARY_CONDITIONS:
                yield f"What is left of it with {line.label} was not measured."
        elif kind := change(gap.value, line.estimate.paired.gap):
            changed.setdefault(kind, []).append(f"{line.label.split(':')[0]}: {signed(line.estimate.paired.gap)}")
    for kind, words in CHANGES.items():
        if kind in changed:
            yield f"{words} where a pass is read otherwise ({'; '.join(changed[kind])})."
    parts = [
        f"{_any(len(out.flips), noun)} ({', '.join([*out.flips[:NAMED], *['…'] * (len(out.flips) > NAMED)])})"
        for out, noun in ((gap.tasks_out, "task"), (gap.categories_out, "category"))
        if out and out.flips
    ]
    parts += [
        f"the tasks that lean to {listed([SHELLS[shell].short_title for shell in less.left_out])}"
        for less in model.without
        if less.gap and band_of(less.gap.value) != band_of(gap.value)
    ]
    if parts:
        yield f"The row of the table is another without {' or '.join(parts)}."


def _any(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"any one of {count} {'categories' if noun == 'category' else 'tasks'}"


def study_cautions(analysis: Analysis, provenance: Provenance) -> Iterator[str]:
    """Models that disagree, what was not measured, trials that grew, and what was not announced."""
    yield from _disagreement(analysis)
    missing = [
        f"{tally.missing} of {tally.planned} in {SHELLS[shell].short_title} for {model.model}"
        for model in analysis.models
        for shell, tally in model.tallies.items()
        if tally.missing
    ]
    if missing:
        yield f"The study is unfinished or was stopped early, runs are missing: {', '.join(missing)}."
    again = [f"{len(model.repeated)} for {model.model}" for model in analysis.models if model.repeated]
    if again:
        yield f"Runs with more than one attempt, as the engine or somebody outside ended one: {', '.join(again)}."
    grew = [f"{listed(list(map(str, m.grew_after)))} for {m.model}" for m in analysis.models if m.grew_after]
    if grew:
        yield (
            f"The study grew: trials beyond {', '.join(grew)} were asked for when the earlier ones had been answered, "
            "and whoever looks in between and stops at a result of choice finds one too often: in simulations of no "
            f"difference, p is at most 0.05 at one of four looks in up to {STOPPING} of studies (docs/method.md)."
        )
    if provenance.registration is None:
        yield "The study is exploratory: nothing was registered before it."
        return
    if provenance.registration.precedes(provenance.first_answer_utc) is False:
        yield "The study is exploratory: it was registered after its first answer."
    if count := len(provenance.deviations):
        points = "1 point" if count == 1 else f"{count} points"
        yield f"The study departs from its registration in {points} (see Plan and deviations)."


def _disagreement(analysis: Analysis) -> Iterator[str]:
    """Who is ahead on tasks like these, else on these very tasks, else the labels: the first in which models differ."""
    judged = [(m, m.gap.claims) for m in analysis.models if m.gap and m.verdict.band and not m.verdict.edge]
    for words, said in (
        ("on tasks like these", [(model, claims.ahead) for model, claims in judged]),
        ("on these very tasks", [(model, claims.these_tasks) for model, claims in judged]),
    ):
        ahead = {
            leader(side, analysis.contrast): [model.model for model, found in said if found == side]
            for side in DIRECTIONS
        }
        if all(ahead.values()):
            yield (
                f"The models disagree: {words}, "
                + " and ".join(f"{name} is ahead for {listed(models)}" for name, models in ahead.items())
                + "."
            )
            return
    labels: dict[str, list[str]] = {}
    for model, claims in judged:
        labels.setdefault(model.words[claims.band].label, []).append(model.model)
    if len(labels) > 1:
        yield f"The models' rows of the table differ: {'; '.join(f'{k} for {listed(v)}' for k, v in labels.items())}."


def leader(ahead: Direction, contrast: tuple[str, str]) -> str:
    """The arm's name in a sentence."""
    return SHELLS[contrast[ahead == "challenger"]].short_title
