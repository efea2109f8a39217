"""Sentences that weigh the numbers: the paragraph a decision maker reads, and the verdicts' meaning."""

from __future__ import annotations

from fluency.analysis import Analysis, ModelAnalysis
from fluency.analysis.numbers import percent, signed, span
from fluency.core.shells import SHELLS
from fluency.report.escape import text

MEANING = {
    "pwsh": "mild evidence to prefer PowerShell prompts",
    "bash": "mild evidence for Bash: a PowerShell-first stance rests on policy and parsing alone, "
    "and is not to be extended to code generation",
    "falsified": "the hypothesis is falsified, treat the gap as noise and change nothing",
    "inconclusive": "inconclusive: the table has no rule for a gap of 5 to 10 points",
}


def paragraph(analysis: Analysis) -> str:
    """What was asked, what came out, and what it carries: Markdown, one paragraph."""
    planned = sum(tally.planned for model in analysis.models for tally in model.tallies.values())
    measured = sum(tally.measured for model in analysis.models for tally in model.tallies.values())
    count = len(analysis.models)
    shells = " and ".join(SHELLS[shell].title for shell in analysis.shells)
    parts = [
        "Does a model write a working one-shot command more often in PowerShell 7 than in Bash?",
        f"{_number(count, 'model was', 'models were each')} asked {_number(len(analysis.tasks), 'task', 'tasks')} "
        f"in {shells}, {_number(analysis.trials, 'trial', 'trials')} a task and shell "
        f"({planned} runs planned, {measured} measured).",
        *(_model(model) for model in analysis.models),
        carries(analysis),
    ]
    return " ".join(parts)


def _model(model: ModelAnalysis) -> str:
    name = f"**{model.model}**:"
    if model.gap is None or model.verdict.band is None:
        seen = [
            f"{SHELLS[shell].title} passed {model.rates[shell].passes} of {model.rates[shell].scored} runs"
            for shell in model.tallies
            if model.rates[shell].scored
        ]
        return f"{name} no verdict, because {text('; '.join(model.verdict.refused))}{_also(seen)}."
    paired = model.gap.paired
    state = "resolved" if model.verdict.resolved else "not resolved"
    provisional = ", provisional" if model.verdict.provisional else ""
    return (
        f"{name} PowerShell passed {_runs(paired.pwsh_rate)}, Bash {_runs(paired.bash_rate)}, a gap of "
        f"{signed(model.gap.value)} points (95 % interval for tasks like these {span(model.gap.s95)}); "
        f"by the decision table, {MEANING[model.verdict.band]}; **{state}**{provisional}."
    )


def carries(analysis: Analysis) -> str:
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
    ahead = [model.model for model in resolved if model.verdict.band in ("pwsh", "bash")]
    level = [model.model for model in resolved if model.verdict.band == "falsified"]
    if ahead:
        parts.append(
            f"The data carry the direction for {', '.join(ahead)}, though not that the gap is 10 points or more"
        )
    if level:
        parts.append(f"The data carry that the gap is small for {', '.join(level)}")
    parts.append(
        "All of this holds for these model versions, these settings and one-shot tasks like these, nothing wider"
    )
    if len(resolved) < len(judged):
        parts.append("The other verdicts are labels from the table, not evidence")
    return ". ".join(parts) + "."


def make_up_sentence(model: ModelAnalysis) -> str:
    """How much of the PowerShell arm is PowerShell."""
    arm = model.make_up.get("pwsh")
    if arm is None or not arm.answers:
        return "There are no PowerShell answers."
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
    return f"Of {arm.answers} PowerShell answers, {part}{rest}.{executed}"


def leakage_sentence(model: ModelAnalysis) -> str:
    """Answers that failed for being written in the other shell's language, over the arms that were measured."""
    counts = next((line.counts for line in model.failures if line.failure_class == "other-dialect"), {})
    other = {"bash": "PowerShell", "pwsh": "Bash"}
    parts = [
        f"{counts.get(shell, 0)} of {tally.measured} measured {SHELLS[shell].title} answers failed "
        f"for being written in {other[shell]}"
        for shell, tally in model.tallies.items()
        if tally.measured
    ]
    return f"Dialect leakage: {'; '.join(parts)}." if parts else ""


def _runs(rate) -> str:
    whole = f"{rate.passes} of {rate.scored} runs"
    return (
        whole if rate.value * rate.scored == rate.passes else f"{whole} ({percent(rate.value)} with equal task weight)"
    )


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _also(parts: list[str]) -> str:
    return f" ({'; '.join(parts)})" if parts else ""
