"""Sentences that weigh the numbers: the paragraph a decision maker reads, and what answers are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fluency.analysis import Analysis, ModelAnalysis
from fluency.analysis.bands import DIRECTION_PP, DIRECTIONS
from fluency.analysis.number_format import percent, seconds, signed, span
from fluency.analysis.outcomes import Rate
from fluency.analysis.robustness import NO_UNIX_TOOLS, restricted_arms
from fluency.core.shells import SHELLS, Shell
from fluency.core.study import Study
from fluency.report.escape import text


def question(analysis: Analysis) -> str:
    """What the study asks of each model."""
    baseline, challenger = (SHELLS[shell].title for shell in analysis.contrast)
    return f"Does a model write a working one-shot command more often in {challenger} than in {baseline}?"


def beside_the_gap(analysis: Analysis) -> str:
    """Which arms are in the gap, with a blank before it; empty where the study has no other."""
    others = listed([SHELLS[shell].short_title for shell in analysis.arms if shell not in analysis.contrast])
    pair = listed([SHELLS[shell].short_title for shell in analysis.contrast])
    if not others:
        return ""
    return f" The rest ({others}) stands beside them and enters no gap: *both shells* below means {pair}."


def paragraph(analysis: Analysis) -> str:
    """What was asked, what came out, and what it carries: Markdown, one paragraph."""
    planned = sum(tally.planned for model in analysis.models for tally in model.tallies.values())
    measured = sum(tally.measured for model in analysis.models for tally in model.tallies.values())
    count = len(analysis.models)
    shells = listed([SHELLS[shell].title for shell in analysis.shells])
    parts = [
        question(analysis),
        f"{_number(count, 'model was', 'models were each')} asked {_number(len(analysis.tasks), 'task', 'tasks')} "
        f"in {shells}, {_number(analysis.trials, 'trial', 'trials')} a task and shell "
        f"({planned} runs planned, {measured} measured).",
        *(_model(model) for model in analysis.models),
        conclusion(analysis),
    ]
    return " ".join(parts)


def _model(model: ModelAnalysis) -> str:
    name = f"**{model.model}**:"
    if model.gap is None or model.verdict.band is None:
        seen = [
            f"{SHELLS[shell].title} passed {rate.passes} of {rate.scored} runs"
            for shell in model.tallies
            if (rate := model.rates[shell])
        ]
        return f"{name} no verdict, because {text('; '.join(model.verdict.refused))}{_also(seen)}."
    paired = model.gap.paired
    baseline, challenger = (SHELLS[shell].short_title for shell in model.outcomes.contrast)
    state = "resolved" if model.verdict.resolved else "not resolved"
    provisional = ", provisional" if model.verdict.provisional else ""
    return (
        f"{name} {challenger} passed {_runs(paired.challenger_rate)}, {baseline} {_runs(paired.baseline_rate)}, "
        f"a gap of {signed(model.gap.value)} points (95 % interval for tasks like these {span(model.gap.s95)}); "
        f"by the decision table, {model.words[model.verdict.band].meaning}; **{state}**{provisional}."
    )


def conclusion(analysis: Analysis) -> str:
    """What may be concluded: never more than the least sure of the models allows."""
    judged = [model for model in analysis.models if model.verdict.band]
    resolved = [model for model in judged if model.verdict.resolved and not model.verdict.provisional]
    if not judged:
        return "Nothing can be decided from this report."
    if not resolved and any(model.verdict.resolved for model in judged):
        return "Missing cells could still change the row of the table: finish the study before deciding."
    if not resolved:
        label = "This verdict is a label" if len(judged) == 1 else "These verdicts are labels"
        return (
            f"{label} from the table, not evidence: the data fit other rows of it as well, "
            "and a change of policy could not rest on it."
        )
    parts = []
    ahead = [model.model for model in resolved if model.verdict.band in DIRECTIONS]
    level = [model.model for model in resolved if model.verdict.band == "falsified"]
    if ahead:
        parts.append(
            f"The data carry the direction for {', '.join(ahead)}, though not that the gap is "
            f"{DIRECTION_PP} points or more"
        )
    if level:
        parts.append(f"The data carry that the gap is small for {', '.join(level)}")
    parts.append(
        "All of this holds for these model versions, these settings and one-shot tasks like these, nothing wider"
    )
    if len(resolved) < len(judged):
        parts.append("The other verdicts are labels from the table, not evidence")
    return ". ".join(parts) + "."


def composition_title(analysis: Analysis) -> str:
    """The question that the classification of the answers is for."""
    names = listed([shell.short_title for shell in _with_foreign_programs(analysis.arms)])
    return f"How much of the {names} arm is {names}?" if names else "What the answers are made of"


def composition_sentences(analysis: Analysis) -> str:
    """Why an answer's shell alone does not tell its language; empty where that is no question."""
    return " ".join(
        f"{shell.foreign_programs} Without the split below, the {shell.short_title} arm cannot be read as a measure of "
        f"{shell.short_title}."
        for shell in _with_foreign_programs(analysis.arms)
    )


def composition_of_arms(model: ModelAnalysis) -> str:
    """How many answers of each arm that runs foreign programs are in its own language."""
    return " ".join(_composition(model, shell) for shell in _with_foreign_programs(model.outcomes.arms))


def _with_foreign_programs(arms: Iterable[str]) -> list[Shell]:
    return [SHELLS[shell] for shell in arms if SHELLS[shell].foreign_programs]


def _composition(model: ModelAnalysis, shell: Shell) -> str:
    arm = model.composition.get(shell.name)
    if arm is None or not arm.answers:
        return f"There are no {shell.short_title} answers."
    counts = {line.made_of: line.answers for line in arm.lines}
    part = ", ".join(
        f"{counts.get(kind, 0)} {words}"
        for kind, words in (
            ("cmdlets-only", "hold cmdlets only"),
            ("mixed", "mix in Unix programs"),
            ("unix-only", "are Unix programs only"),
            ("delegation", "hand over to another shell or language"),
        )
    )
    other = arm.answers - sum(counts.get(kind, 0) for kind in ("cmdlets-only", "mixed", "unix-only", "delegation"))
    rest = f"; the other {other} hold no command or do not parse" if other else ""
    executed = "" if arm.measured else " They could not be executed here."
    return f"Of {arm.answers} {shell.short_title} answers, {part}{rest}.{executed}"


def restricted_column(analysis: Analysis) -> str:
    """What the summary's column on Unix tools says, as a line of its legend; empty where there is no such column."""
    names, others = _restricted(analysis.contrast)
    if not names:
        return ""
    designed = f", {others} as designed" if others else ""
    return f"- *without Unix tools*: the gap when {names} finds no Unix programs{designed} (see the next section).\n"


def restricted_gap_sentence(model: ModelAnalysis) -> str:
    """The gap of the same answers without Unix tools; empty where the study has no such condition."""
    names, others = _restricted(model.outcomes.contrast)
    if not names:
        return ""
    found = next(line.estimate for line in model.sensitivities if line.key == NO_UNIX_TOOLS)
    if found is None:
        return f"The gap without Unix tools on PATH for {names} was not measured."
    paired = found.paired
    baseline, challenger = (SHELLS[shell].short_title for shell in model.outcomes.contrast)
    designed = f", and {others} as designed" if others else ""
    return (
        f"With no Unix tools on PATH for {names}{designed}, the gap is **{signed(paired.gap)} pp** "
        f"({challenger} {paired.challenger_rate.passes}/{paired.challenger_rate.scored}, "
        f"{baseline} {paired.baseline_rate.passes}/{paired.baseline_rate.scored}, {len(paired.tasks)} tasks; "
        f"95 % {span(found.interval)}), against {signed(model.gap.value) if model.gap else 'n/a'} pp as designed. "
        "It is the same answers executed again: a model told that no Unix tools are there might have written others."
    )


def _restricted(contrast: tuple[str, str]) -> tuple[str, str]:
    """The arms that are also run without Unix tools, and the others; each may be empty."""
    restricted = restricted_arms(contrast)
    others = [SHELLS[shell].short_title for shell in contrast if shell not in restricted]
    return listed([SHELLS[shell].short_title for shell in restricted]), listed(others)


def leakage_sentence(model: ModelAnalysis) -> str:
    """Answers that failed for being written in another shell's language, over the arms that were measured."""
    counts = next((line.counts for line in model.failures if line.failure_class == "other-dialect"), {})
    parts = [
        f"{counts.get(shell, 0)} of {tally.measured} measured {SHELLS[shell].title} answers failed "
        f"for being written in {_other_language(SHELLS[shell])}"
        for shell, tally in model.tallies.items()
        if tally.measured
    ]
    return f"Dialect leakage: {'; '.join(parts)}." if parts else ""


def _other_language(shell: Shell) -> str:
    return next(other.short_title for other in SHELLS.values() if other.grammar != shell.grammar)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def deadlines(analysis: Analysis, study: Study) -> str:
    """Each arm's deadline."""
    limits = study.sandbox.limits.timeout_s
    return listed([f"{seconds(limits[shell])} in {SHELLS[shell].short_title}" for shell in analysis.arms])


def _runs(rate: Rate) -> str:
    whole = f"{rate.passes} of {rate.scored} runs"
    if rate.value * rate.scored == rate.passes:
        return whole
    return f"{whole} ({percent(rate.value)} with equal task weight)"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _also(parts: list[str]) -> str:
    return f" ({'; '.join(parts)})" if parts else ""
