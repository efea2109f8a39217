"""The headline of a study: one line a model."""

from __future__ import annotations

from fluency.analysis.estimate import GapEstimate
from fluency.analysis.plan import DIRECTION_PP, NOISE_PP
from fluency.analysis.power import SampleSizes
from fluency.analysis.robustness import arms_under, conditions_of
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS
from fluency.report.numbers import percent, points, probability, signed, span


def headline(analysis: Analysis) -> str:
    """One line a model for the terminal: gap, table verdict, uncertainty, whether it is resolved."""
    return "\n".join(headline_of(model) for model in analysis.models)


def headline_of(model: ModelAnalysis) -> str:
    """One line about one model, for a terminal or a report."""
    gap = model.gap
    if gap is None:
        arms = "; ".join(_arm(model, shell) for shell in model.tallies)
        return f"{model.model}: no gap: {'; '.join(model.verdict.refused)}. {arms}."
    return f"{model.model}: {' '.join(sentences(model, gap))}"


def sentences(model: ModelAnalysis, gap: GapEstimate) -> list[str]:
    """The parts of the headline, in the order in which they qualify each other."""
    baseline, challenger = model.outcomes.contrast
    tallies = [tally for shell, tally in model.tallies.items() if shell in model.outcomes.contrast]
    measured, planned = sum(tally.measured for tally in tallies), sum(tally.planned for tally in tallies)
    tasks = len(gap.paired.tasks)
    parts = [
        f"gap {signed(gap.value)} pp ({baseline} {percent(gap.paired.baseline_rate.value)}, "
        f"{challenger} {percent(gap.paired.challenger_rate.value)}; T={tasks}, {measured}/{planned} runs measured).",
        verdict_sentence(model),
        f"95 % for tasks like these {span(gap.s95)}{' (floored)' if gap.floored else ''}; {on_these_tasks(gap)}.",
        *([no_difference(gap)] if gap.floored and not gap.paired.differing else []),
        f"Sign-flip p={probability(gap.p)} ({gap.paired.differing} of {tasks} tasks differ).",
        f"Compatible with: {', '.join(model.words[band].label for band in gap.claims.rows)}.",
    ]
    if not model.verdict.refused:
        parts.append(resolution(model, gap))
    if gap.tasks_out:
        flips = ", ".join(gap.tasks_out.flips)
        flipped = f", the band changes without {flips}" if flips else ", the band survives each deletion"
        parts.append(f"Leave-one-task-out {signed(gap.tasks_out.low)} to {signed(gap.tasks_out.high)}{flipped}.")
    for condition in conditions_of(model.outcomes.contrast):
        found = model.under(condition)
        if condition.in_summary and found is not None:
            names = " and ".join(SHELLS[shell].short_title for shell in arms_under(condition, model.outcomes.contrast))
            title = condition.title[0].upper() + condition.title[1:]
            parts.append(f"{title} for {names} the gap is {signed(found.paired.gap)} pp.")
    shares = " / ".join(f"{model.words[band].label} {percent(share, 0)}" for band, share in gap.shares.items())
    parts.append(f"Task-resample shares {shares} (not probabilities of truth).")
    return parts


def verdict_sentence(model: ModelAnalysis) -> str:
    """The table's verdict, or why there is none."""
    verdict = model.verdict
    if verdict.band is None:
        return f"No verdict: {'; '.join(verdict.refused)}."
    provisional = ", provisional: missing cells could change it" if verdict.provisional else ""
    label = f"{model.words[verdict.band].verdict}{provisional}."
    if verdict.edge:
        return f"These tasks cannot tell for this model: both arms are at the {verdict.edge}. Table label: {label}"
    return f"Table verdict: {label}"


def resolution(model: ModelAnalysis, gap: GapEstimate) -> str:
    """Whether the data carry the verdict, and what it would take."""
    if model.verdict.resolved:
        return "Resolved."
    if model.verdict.edge:
        return "Not resolved: a gap has no room to show."
    if gap.needed is None:
        return "Not resolved; the spread between tasks is zero, so no size can be worked out."
    return f"Not resolved; {tasks_needed(gap.needed)}."


def tasks_needed(sizes: SampleSizes) -> str:
    """How many tasks each question would take, in words."""
    return (
        f"with this spread, four times in five, about {sizes.ahead} tasks show who is ahead (of a true gap of "
        f"{DIRECTION_PP}), as many that it is {DIRECTION_PP} or more (of {2 * DIRECTION_PP}), about "
        f"{sizes.no_difference} that there is no difference (less than {NOISE_PP}, of 0)"
    )


def on_these_tasks(gap: GapEstimate) -> str:
    """The fixed-task interval in words."""
    if gap.fixed is None:
        return "on these tasks: undefined with one trial"
    return f"on these tasks ±{points(gap.fixed)}" + ("" if gap.fixed else " (no trial varied; not certainty)")


def no_difference(gap: GapEstimate) -> str:
    """No task differed: what that does not rule out."""
    tasks = len(gap.paired.tasks)
    return f"0/{tasks} tasks differ: up to {percent(gap.differing_bound)} (Clopper-Pearson) could."


def _arm(model: ModelAnalysis, shell: str) -> str:
    rate, arm = model.rates[shell], model.tallies[shell]
    if rate is None:
        return f"{SHELLS[shell].title}: {arm.measured}/{arm.planned} runs measured"
    return (
        f"{SHELLS[shell].title} pass@1 {percent(rate.value)} ({rate.passes}/{rate.scored} runs, {rate.tasks} tasks, "
        f"{arm.measured}/{arm.planned} measured)"
    )
