"""The paragraph a decision maker reads: what was asked, what came out, and what it carries, in words for the claims."""

from __future__ import annotations

from fluency.analysis.estimate import Claims, GapEstimate
from fluency.analysis.outcomes import Rate
from fluency.analysis.plan import ALPHA, DIRECTION_PP, NOISE_PP, band_words
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS
from fluency.report.cautions import leader, model_cautions, study_cautions
from fluency.report.escape import text
from fluency.report.numbers import percent, points, signed, span
from fluency.report.wording import listed, question

SIZES = {
    "ten-or-more": f"the gap is {DIRECTION_PP} points or more",
    "five-to-ten": f"the gap is {NOISE_PP} to {DIRECTION_PP} points, for which the table has no rule",
    "under-five": f"the gap is less than {NOISE_PP} points",
    "under-ten": f"the gap is less than {DIRECTION_PP} points",
}
NAMES = "{names}"
"""Stands in a sentence for the models it is said of."""


def paragraph(analysis: Analysis, provenance: Provenance) -> str:
    """What was asked, what came out, what it carries, and what must not be missed: Markdown.

    One paragraph for one model; of several each has its own line.
    """
    planned = sum(tally.planned for model in analysis.models for tally in model.tallies.values())
    measured = sum(tally.measured for model in analysis.models for tally in model.tallies.values())
    count = len(analysis.models)
    shells = listed([SHELLS[shell].title for shell in analysis.shells])
    asked = (
        f"{question(analysis)} {_number(count, 'model was', 'models were each')} asked "
        f"{_number(len(analysis.tasks), 'task', 'tasks')} in {shells}, "
        f"{_number(analysis.trials, 'trial', 'trials')} a task and shell ({planned} runs planned, {measured} measured)."
    )
    found = [_model(model) for model in analysis.models]
    carries = " ".join(
        filter(None, [conclusion(analysis), *to_measure(analysis), *study_cautions(analysis, provenance)])
    )
    if count == 1:
        return f"{asked} {found[0]} {carries}"
    return "\n\n".join([asked, "\n".join(f"- {each}" for each in found), carries])


def to_measure(analysis: Analysis) -> list[str]:
    """The one thing to do for each shell that nobody could run, a sentence each."""
    tallies = [(shell, tally) for model in analysis.models for shell, tally in model.tallies.items()]
    lacking = dict.fromkeys(shell for shell, tally in tallies if tally.state == "not-measured")
    return [f"To measure {SHELLS[shell].short_title}, {SHELLS[shell].install_hint}." for shell in lacking]


def _model(model: ModelAnalysis) -> str:
    name, verdict, gap = f"**{model.model}**:", model.verdict, model.gap
    if gap is None or verdict.band is None:
        seen = [
            f"{SHELLS[shell].title} passed {rate.passes} of {rate.scored} runs"
            for shell in model.tallies
            if (rate := model.rates[shell])
        ]
        return f"{name} no verdict, because {text('; '.join(verdict.refused))}{_also(seen)}."
    baseline, challenger = (SHELLS[shell].short_title for shell in model.outcomes.contrast)
    passed = (
        f"{challenger} passed {_runs(gap.paired.challenger_rate)}, {baseline} {_runs(gap.paired.baseline_rate)}, "
        f"a gap of {signed(gap.value)} points ({_intervals(gap)})"
    )
    provisional = ", provisional" if verdict.provisional else ""
    meaning = model.words[verdict.band].meaning
    if verdict.edge:
        return (
            f"{name} these tasks cannot tell for this model: both arms stand at the {verdict.edge}, where a gap has no "
            f"room to show. {passed}; the table's label for it, no finding here{provisional}: {meaning}."
        )
    state = "resolved" if verdict.resolved else "not resolved"
    return " ".join(
        [
            f"{name} {passed}; by the decision table, {meaning}; **{state}**{provisional}.",
            both_claims(gap, model.outcomes.contrast),
            *model_cautions(model, gap),
        ]
    )


def both_claims(gap: GapEstimate, contrast: tuple[str, str]) -> str:
    """Who is ahead on tasks like these, and who on these very tasks."""
    claims = gap.claims
    like = f"{leader(claims.ahead, contrast)} is ahead" if claims.ahead else "it is open who is ahead"
    if claims.these_tasks == "unknown":
        why = "no trial varied, which is not certainty" if gap.fixed == 0 else "one trial does not show its own noise"
        return f"On tasks like these {like}; on these very tasks too little is known ({why})."
    if claims.these_tasks == "open":
        return f"On tasks like these {like}; on these very tasks {'it is open' if claims.ahead else 'too'}."
    on_these = leader(claims.these_tasks, contrast)
    return f"On tasks like these {like}; on these very tasks {'too' if claims.ahead else f'{on_these} is'}."


def conclusion(analysis: Analysis) -> str:
    """What may be concluded: a sentence for each distinct finding, with the models it is true of."""
    judged = [(model, model.gap.claims) for model in analysis.models if model.gap and model.verdict.band]
    said: dict[str, list[str]] = {}
    for model, claims in judged:
        said.setdefault(finding(claims, model.outcomes.contrast, model.verdict.provisional), []).append(model.model)
    sentences = [sentence.replace(NAMES, listed(names)) for sentence, names in said.items()]
    carried = [claims for model, claims in judged if not model.verdict.provisional and is_carried(claims)]
    if carried:
        wide = (
            "All of this holds for these model versions, these settings and one-shot tasks like these, nothing wider."
        )
        return " ".join([*sentences, wide])
    if all(claims.edge for _, claims in judged):
        sentences.append("Nothing can be decided from this report.")
    return " ".join(sentences)


def is_carried(claims: Claims) -> bool:
    """Whether the data carry anything at all of tasks like these."""
    return bool(claims.ahead) or claims.size != "open"


def finding(claims: Claims, contrast: tuple[str, str], provisional: bool = False) -> str:
    """What one model's data carry on tasks like these: one sentence, with a place for the names of the models."""
    ahead = f"{leader(claims.ahead, contrast)} is ahead" if claims.ahead else ""
    if claims.edge:
        shown = f" They show that {ahead}, not by how much." if ahead else ""
        return f"These tasks cannot tell for {NAMES}, whatever the table's label.{shown}"
    if provisional:
        return f"Missing cells could still change the row of the table for {NAMES}: finish the study before deciding."
    if ahead and claims.size == "open":
        return (
            f"The data carry that {ahead} for {NAMES}, though neither that the gap is {DIRECTION_PP} points or more "
            "nor that it is less."
        )
    if ahead:
        return f"The data carry that {ahead} for {NAMES}, and that {SIZES[claims.size]}."
    if claims.size == "under-five":
        return f"The data carry for {NAMES} that {SIZES[claims.size]} either way."
    others = listed(
        [words.label for band, words in band_words(contrast).items() if band in claims.rows and band != claims.band]
    )
    why = f"the data fit other rows of it as well ({others})" if others else f"the sign-flip p is above {ALPHA:g}"
    if claims.size == "under-ten":
        carried = f"The data carry for {NAMES} that {SIZES[claims.size]} either way"
        return f"{carried}, but neither who is ahead nor the row of the table: {why}."
    return (
        f"The verdict for {NAMES} is a label from the table, not evidence: {why}, "
        "and a change of policy could not rest on it."
    )


def _runs(rate: Rate) -> str:
    whole = f"{rate.passes} of {rate.scored} runs"
    if rate.value * rate.scored == rate.passes:
        return whole
    return f"{whole} ({percent(rate.value)} with equal task weight)"


def _intervals(gap: GapEstimate) -> str:
    these = "undefined" if gap.fixed is None else f"±{points(gap.fixed)}"
    return f"95 % interval for tasks like these {span(gap.s95)}, for these tasks alone {these}"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _also(parts: list[str]) -> str:
    return f" ({'; '.join(parts)})" if parts else ""
