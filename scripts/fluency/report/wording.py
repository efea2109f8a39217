"""Sentences that weigh the numbers: what was asked, what answers are made of, and what they ran into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fluency.analysis.robustness import conditions_of, setting_for
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.shells import SHELLS, Condition, Shell
from fluency.core.study import Study
from fluency.report.numbers import seconds, signed, span


def question(analysis: Analysis) -> str:
    """What the study asks of each model."""
    baseline, challenger = (SHELLS[shell].title for shell in analysis.contrast)
    return f"Does a model write a working one-shot command more often in {challenger} than in {baseline}?"


def attempt(number: int | None, measured: bool) -> str | None:
    """At which attempt a cell was measured or given up; None at the first, or where none was made."""
    if number is None or number == 1:
        return None
    ordinal = f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"
    return f"measured at the {ordinal} attempt" if measured else f"given up after the {ordinal} attempt"


def beside_the_gap(analysis: Analysis) -> str:
    """Which arms are in the gap, with a blank before it; empty where the study has no other."""
    others = listed([SHELLS[shell].short_title for shell in analysis.arms if shell not in analysis.contrast])
    pair = listed([SHELLS[shell].short_title for shell in analysis.contrast])
    if not others:
        return ""
    return f" The rest ({others}) stands beside them and enters no gap: *both shells* below means {pair}."


def composition_title(analysis: Analysis) -> str:
    """The question that the classification of the answers is for."""
    names = listed([shell.short_title for shell in _with_foreign_programs(analysis.arms)])
    return f"How much of the {names} arm is {names}?" if names else "What the answers are made of"


def composition_sentences(analysis: Analysis) -> str:
    """Why an answer's shell alone does not tell its language; empty where that is no question."""
    return " ".join(
        f"{shell.unix_programs_note} Without the split below, the {shell.short_title} arm cannot be read as a measure "
        f"of {shell.short_title}."
        for shell in _with_foreign_programs(analysis.arms)
    )


def composition_of_arms(model: ModelAnalysis) -> str:
    """How many answers of each arm that runs foreign programs are in its own language."""
    return " ".join(_composition(model, shell) for shell in _with_foreign_programs(model.outcomes.arms))


def _with_foreign_programs(arms: Iterable[str]) -> list[Shell]:
    return [SHELLS[shell] for shell in arms if SHELLS[shell].unix_programs_note]


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


def summary_columns(analysis: Analysis) -> str:
    """What the summary's columns on conditions say, a line of its legend each."""
    return "".join(
        f"- *{condition.title}*: the gap with {setting_for(condition, analysis.contrast)} (see the next section).\n"
        for condition in conditions_of(analysis.contrast)
        if condition.in_summary
    )


def gaps_under_conditions(model: ModelAnalysis) -> str:
    """The gap of the same answers under each condition, a paragraph each; empty where no arm has one."""
    return "\n\n".join(_gap_under(model, condition) for condition in conditions_of(model.outcomes.contrast))


def _gap_under(model: ModelAnalysis, condition: Condition) -> str:
    setting = setting_for(condition, model.outcomes.contrast)
    found = model.under(condition)
    if found is None:
        return f"The gap with {setting} was not measured."
    paired = found.paired
    baseline, challenger = (SHELLS[shell].short_title for shell in model.outcomes.contrast)
    return (
        f"With {setting}, the gap is **{signed(paired.gap)} pp** "
        f"({challenger} {paired.challenger_rate.passes}/{paired.challenger_rate.scored}, "
        f"{baseline} {paired.baseline_rate.passes}/{paired.baseline_rate.scored}, {len(paired.tasks)} tasks; "
        f"95 % {span(found.interval)}), against {signed(model.gap.value) if model.gap else 'n/a'} pp as designed. "
        f"{condition.caveat}"
    )


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
