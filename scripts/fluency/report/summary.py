"""The first paragraph, its warnings, and one line for each model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fluency.analysis.descriptive import ORDER_KEPT
from fluency.analysis.estimate import Claims, GapEstimate
from fluency.analysis.outcomes import Rate
from fluency.analysis.plan import ALPHA, DIRECTION_PP, DIRECTIONS, NOISE_PP, Direction, band_of, band_words, edge_of
from fluency.analysis.power import SampleSizes
from fluency.analysis.robustness import Change, change, conditions_of, shells_under
from fluency.analysis.simulated import STOPPING
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.common.words import plural
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS, SUMMARY_CONDITIONS
from fluency.core.tasks import set_name
from fluency.report.markdown import text
from fluency.report.numbers import percent, points, probability, signed, span
from fluency.report.sentences import listed, question, short_names

SIZE_WORDS = {
    "ten-or-more": f"the gap is {DIRECTION_PP} points or more",
    "five-to-ten": f"the gap is {NOISE_PP} to {DIRECTION_PP} points, for which the table has no rule",
    "under-five": f"the gap is less than {NOISE_PP} points",
    "under-ten": f"the gap is less than {DIRECTION_PP} points",
}
NAMES = "{names}"
"""Placeholder in a sentence for the models it is about."""


def opening_paragraph(analysis: Analysis, provenance: Provenance) -> str:
    """What was asked, what came out, what it carries, and what must not be missed: Markdown.

    One paragraph for one model; of several each has its own line.
    """
    planned = sum(tally.planned for model in analysis.models for tally in model.tallies.values())
    measured = sum(tally.measured for model in analysis.models for tally in model.tallies.values())
    count = len(analysis.models)
    shells = listed([SHELLS[shell].title for shell in analysis.shells])
    asked = (
        f"{question(analysis)} {plural(count, 'model')} {'was' if count == 1 else 'were each'} asked "
        f"{plural(len(analysis.tasks), 'task')} in {shells}, {plural(analysis.trials, 'trial')} a task and shell "
        f"({planned} runs planned, {measured} measured)."
    )
    found = [_model_sentences(model) for model in analysis.models]
    last = [conclusion(analysis), *_how_to_get_missing_shells(analysis), *_study_warnings(analysis, provenance)]
    carries = " ".join(filter(None, last))
    if count == 1:
        return f"{asked} {found[0]} {carries}"
    return "\n\n".join([asked, "\n".join(f"- {each}" for each in found), carries])


def _how_to_get_missing_shells(analysis: Analysis) -> list[str]:
    tallies = [(shell, tally) for model in analysis.models for shell, tally in model.tallies.items()]
    lacking = dict.fromkeys(shell for shell, tally in tallies if tally.state == "not-measured")
    return [f"To measure {SHELLS[shell].short_title}, {SHELLS[shell].install_hint}." for shell in lacking]


def _model_sentences(model: ModelAnalysis) -> str:
    name, verdict, gap = f"**{model.model}**:", model.verdict, model.gap
    if gap is None or verdict.band is None:
        seen = "; ".join(
            f"{SHELLS[shell].title} passed {rate.passes} of {rate.scored} runs"
            for shell in model.tallies
            if (rate := model.rates[shell])
        )
        return f"{name} no verdict, because {text('; '.join(verdict.refused))}{seen and f' ({seen})'}."
    baseline, challenger = short_names(model.outcomes.contrast)
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
            _who_is_ahead(gap, model.outcomes.contrast),
            *_model_warnings(model, gap),
        ]
    )


def _who_is_ahead(gap: GapEstimate, contrast: tuple[str, str]) -> str:
    claims = gap.claims
    like = f"{_shell_ahead(claims.ahead, contrast)} is ahead" if claims.ahead else "it is open who is ahead"
    if claims.these_tasks == "unknown":
        why = "no trial varied, which is not certainty" if gap.fixed == 0 else "one trial does not show its own noise"
        return f"On tasks like these {like}; on these very tasks too little is known ({why})."
    if claims.these_tasks == "open":
        return f"On tasks like these {like}; on these very tasks {'it is open' if claims.ahead else 'too'}."
    on_these = _shell_ahead(claims.these_tasks, contrast)
    return f"On tasks like these {like}; on these very tasks {'too' if claims.ahead else f'{on_these} is'}."


def conclusion(analysis: Analysis) -> str:
    """What may be concluded: a sentence for each distinct finding, with the models it is true of."""
    judged = [(model, model.gap.claims) for model in analysis.models if model.gap and model.verdict.band]
    models_by_sentence: defaultdict[str, list[str]] = defaultdict(list)
    for model, claims in judged:
        models_by_sentence[claim_sentence(claims, model.outcomes.contrast, model.verdict.provisional)].append(
            model.model
        )
    sentences = [sentence.replace(NAMES, listed(names)) for sentence, names in models_by_sentence.items()]
    if any((claims.ahead or claims.size != "open") and not model.verdict.provisional for model, claims in judged):
        sentences.append(
            "All of this holds for these model versions, these settings and one-shot tasks like these, nothing wider."
        )
    elif all(claims.edge for _, claims in judged):
        sentences.append("Nothing can be decided from this report.")
    return " ".join(sentences)


def claim_sentence(claims: Claims, contrast: tuple[str, str], provisional: bool = False) -> str:
    """What one model's data carry on tasks like these: one sentence, with a place for the names of the models."""
    ahead = f"{_shell_ahead(claims.ahead, contrast)} is ahead" if claims.ahead else ""
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
        return f"The data carry that {ahead} for {NAMES}, and that {SIZE_WORDS[claims.size]}."
    if claims.size == "under-five":
        return f"The data carry for {NAMES} that {SIZE_WORDS[claims.size]} either way."
    others = listed(
        [words.label for band, words in band_words(contrast).items() if band in claims.rows and band != claims.band]
    )
    why = f"the data fit other rows of it as well ({others})" if others else f"the sign-flip p is above {ALPHA:g}"
    if claims.size == "under-ten":
        carried = f"The data carry for {NAMES} that {SIZE_WORDS[claims.size]} either way"
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


CHANGE_WORDS: dict[Change, str] = {
    "vanishes": f"The gap vanishes (less than {NOISE_PP} points)",
    "turns": "The gap turns round",
    "row": "The row of the table is another",
}
MAX_NAMED = 3
"""So many of the tasks without which the row is another are named; the rest stands further down."""


def _model_warnings(model: ModelAnalysis, gap: GapEstimate) -> Iterator[str]:
    """Shells at an edge, and definitions of a pass, tasks and categories on which the result hangs."""
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
    for kind, words in CHANGE_WORDS.items():
        if kind in changed:
            yield f"{words} where a pass is read otherwise ({'; '.join(changed[kind])})."
    parts = [
        f"{_any(len(out.flips), noun)} ({', '.join([*out.flips[:MAX_NAMED], *['…'] * (len(out.flips) > MAX_NAMED)])})"
        for out, noun in ((gap.tasks_out, "task"), (gap.categories_out, "category"))
        if out and out.flips
    ]
    parts += [
        f"the tasks that lean to {listed(short_names(less.names))}"
        for less in model.without
        if less.gap and band_of(less.gap.value) != band_of(gap.value)
    ]
    if parts:
        yield f"The row of the table is another without {' or '.join(parts)}."


def _any(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"any one of {count} {'categories' if noun == 'category' else 'tasks'}"


def _study_warnings(analysis: Analysis, provenance: Provenance) -> Iterator[str]:
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
    again = [f"{len(model.retried_cells)} for {model.model}" for model in analysis.models if model.retried_cells]
    if again:
        yield f"Runs with more than one attempt, as the engine or somebody outside ended one: {', '.join(again)}."
    later = [(model.model, list(map(str, model.trials_added_later))) for model in analysis.models]
    grew = [f"{listed(trials)} for {name}" for name, trials in later if trials]
    if grew:
        yield (
            f"The study grew: trials beyond {', '.join(grew)} were asked for when the earlier ones had been answered, "
            "and whoever looks in between and stops at a result of choice finds one too often: in simulations of no "
            f"difference, p is at most 0.05 at one of four looks in up to {STOPPING} of studies (docs/method.md)."
        )
    if not set_name(analysis.tasks):
        yield "The tasks are no named set: they were chosen for this study."
    departed = [f"{name} {o.correlation:.2f}" for name, o in analysis.orders.items() if o.state == "departed"]
    if departed:
        yield (
            f"The answers were not asked for in the planned order (rank correlation with it: {', '.join(departed)}; "
            f"kept from {ORDER_KEPT}): some came later, or again, and whoever chooses which can move the gap."
        )
    if provenance.registration is None:
        yield "The study is exploratory: nothing was registered before it."
        return
    if provenance.registration.precedes(provenance.first_answer_utc) is False:
        yield "The study is exploratory: it was registered after its first answer."
    if count := len(provenance.registration.siblings):
        yield f"Its registration is one of {count + 1} that name the same models and tasks."
    if count := len(provenance.deviations):
        yield f"The study departs from its registration in {plural(count, 'point')} (see Plan and deviations)."


def _disagreement(analysis: Analysis) -> Iterator[str]:
    """Who is ahead on tasks like these, else on these very tasks, else the labels: the first in which models differ."""
    judged = [(m, m.gap.claims) for m in analysis.models if m.gap and m.verdict.band and not m.verdict.edge]
    for words, sides in (
        ("on tasks like these", [(model, claims.ahead) for model, claims in judged]),
        ("on these very tasks", [(model, claims.these_tasks) for model, claims in judged]),
    ):
        ahead = {
            _shell_ahead(side, analysis.contrast): [model.model for model, found in sides if found == side]
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


def _shell_ahead(ahead: Direction, contrast: tuple[str, str]) -> str:
    return SHELLS[contrast[ahead == "challenger"]].short_title


def headline(analysis: Analysis) -> str:
    """One line a model for the terminal: gap, table verdict, uncertainty, whether it is resolved."""
    return "\n".join(headline_of(model) for model in analysis.models)


def headline_of(model: ModelAnalysis) -> str:
    """One line about one model, for a terminal or a report."""
    gap = model.gap
    if gap is None:
        results = "; ".join(_shell_results(model, shell) for shell in model.tallies)
        return f"{model.model}: no gap: {'; '.join(model.verdict.refused)}. {results}."
    return f"{model.model}: {' '.join(_headline_parts(model, gap))}"


def _headline_parts(model: ModelAnalysis, gap: GapEstimate) -> list[str]:
    baseline, challenger = model.outcomes.contrast
    tallies = [tally for shell, tally in model.tallies.items() if shell in model.outcomes.contrast]
    measured, planned = sum(tally.measured for tally in tallies), sum(tally.planned for tally in tallies)
    tasks = len(gap.paired.tasks)
    no_difference = f"0/{tasks} tasks differ: up to {percent(gap.differing_bound)} (Clopper-Pearson) could."
    parts = [
        f"gap {signed(gap.value)} pp ({baseline} {percent(gap.paired.baseline_rate.value)}, "
        f"{challenger} {percent(gap.paired.challenger_rate.value)}; T={tasks}, {measured}/{planned} runs measured).",
        _verdict_sentence(model),
        f"95 % for tasks like these {span(gap.s95)}{' (floored)' if gap.floored else ''}; {_on_these_tasks(gap)}.",
        *([no_difference] if gap.floored and not gap.paired.differing else []),
        f"Sign-flip p={probability(gap.p)} ({gap.paired.differing} of {tasks} tasks differ).",
        f"Compatible with: {', '.join(model.words[band].label for band in gap.claims.rows)}.",
    ]
    if not model.verdict.refused:
        parts.append(_resolution(model, gap))
    if gap.tasks_out:
        flips = ", ".join(gap.tasks_out.flips)
        flipped = f", the band changes without {flips}" if flips else ", the band survives each deletion"
        parts.append(f"Leave-one-task-out {signed(gap.tasks_out.low)} to {signed(gap.tasks_out.high)}{flipped}.")
    for condition in conditions_of(model.outcomes.contrast):
        found = model.under(condition)
        if condition.in_summary and found is not None:
            names = " and ".join(short_names(shells_under(condition, model.outcomes.contrast)))
            title = condition.title[0].upper() + condition.title[1:]
            parts.append(f"{title} for {names} the gap is {signed(found.paired.gap)} pp.")
    shares = " / ".join(f"{model.words[band].label} {percent(share, 0)}" for band, share in gap.shares.items())
    parts.append(f"Task-resample shares {shares} (not probabilities of truth).")
    return parts


def _verdict_sentence(model: ModelAnalysis) -> str:
    verdict = model.verdict
    if verdict.band is None:
        return f"No verdict: {'; '.join(verdict.refused)}."
    provisional = ", provisional: missing cells could change it" if verdict.provisional else ""
    label = f"{model.words[verdict.band].verdict}{provisional}."
    if verdict.edge:
        return f"These tasks cannot tell for this model: both arms are at the {verdict.edge}. Table label: {label}"
    return f"Table verdict: {label}"


def _resolution(model: ModelAnalysis, gap: GapEstimate) -> str:
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


def _on_these_tasks(gap: GapEstimate) -> str:
    if gap.fixed is None:
        return "on these tasks: undefined with one trial"
    return f"on these tasks ±{points(gap.fixed)}" + ("" if gap.fixed else " (no trial varied; not certainty)")


def _shell_results(model: ModelAnalysis, shell: str) -> str:
    rate, tally = model.rates[shell], model.tallies[shell]
    if rate is None:
        return f"{SHELLS[shell].title}: {tally.measured}/{tally.planned} runs measured"
    return (
        f"{SHELLS[shell].title} pass@1 {percent(rate.value)} ({rate.passes}/{rate.scored} runs, {rate.tasks} tasks, "
        f"{tally.measured}/{tally.planned} measured)"
    )
