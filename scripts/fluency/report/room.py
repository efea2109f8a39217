"""What the room decides instead of the language: programs that it lacks, exit codes, limits; counted by arm."""

from __future__ import annotations

from fractions import Fraction

from fluency.analysis.outcomes import Rate
from fluency.analysis.plan import MISSING_APART
from fluency.analysis.robustness import MISSING_PROGRAM, BriefEstimate
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.core.records import EARLIER_CLASS
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.report.numbers import points, signed

LEAST = int(100 * MISSING_APART)


def missing_programs(model: ModelAnalysis) -> str:
    """How often each arm called what this room lacks, and called what nobody has; and what it may do to the gap."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    counted = {line.failure_class: line.counts for line in model.failures}
    if older := sum(counted.get(EARLIER_CLASS[MISSING_PROGRAM], {}).values()):
        both = _share(EARLIER_CLASS[MISSING_PROGRAM], counted[EARLIER_CLASS[MISSING_PROGRAM]], measured)
        return (
            f"Failed for a command that is not there: {both}. These {older} cells were judged when a program that this "
            "room lacks and a name that nobody has were one class."
        )
    lacked = counted.get(MISSING_PROGRAM, {})
    parts = [_share(name, counted.get(name, {}), measured) for name in (MISSING_PROGRAM, "invented-command")]
    said = (
        f"Failed for a program that other machines have and this room lacks: {parts[0]}; for a name that nobody has: "
        f"{parts[1]}."
    )
    baseline, challenger = model.outcomes.contrast
    if not measured.keys() >= {baseline, challenger}:
        return said
    shares = {shell: Fraction(lacked.get(shell, 0), measured[shell]) for shell in (baseline, challenger)}
    apart = abs(shares[challenger] - shares[baseline])
    if apart < MISSING_APART:
        return f"{said} The arms differ by {points(apart)} points in the first, less than {LEAST}."
    spared = min(shares, key=shares.__getitem__)
    gaps = {line.key: signed(line.estimate.paired.gap) if line.estimate else "n/a" for line in model.sensitivities}
    return (
        f"{said} **The room may favour {SHELLS[spared].short_title}**: the arms differ by {points(apart)} points in "
        f"the first, {LEAST} or more. The gap is {gaps['missing_left_out']} pp with those cells left out and "
        f"{gaps['missing_passed']} pp with all of them passed, against {gaps['headline']} pp as designed."
    )


def is_described(analysis: Analysis) -> bool:
    """Whether the study contrasts the two shells that the table of the room speaks of."""
    return analysis.contrast == DESIGN_SHELLS


def found(model: ModelAnalysis) -> str:
    """What the room did to one model's answers, by arm: failed cells / measured ones."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    counted = {line.failure_class: line.counts for line in model.failures}
    older = EARLIER_CLASS[MISSING_PROGRAM]
    lines = [
        (words, counted.get(name, {}))
        for name, words in (
            (older, "a command that is not there")
            if older in counted
            else (MISSING_PROGRAM, "a program that is missing here"),
            ("timeout", "stopped at the deadline"),
            ("resource-limit", "met another limit"),
            ("table-noise", "a right answer under a table header"),
        )
    ]
    ended = _ended_badly(model)
    if ended is not None:
        lines.append(("the right output, failed for how the command ended", ended))
    return "; ".join(f"{words}: {_arms(counts, measured)}" for words, counts in lines if measured) or "nothing measured"


def _ended_badly(model: ModelAnalysis) -> dict[str, int] | None:
    """Cells of each contrasted arm whose output is right and that failed all the same; None without a comparison."""
    estimates = {line.key: line.estimate for line in model.sensitivities}
    output, headline = estimates["output"], estimates["headline"]
    if output is None or headline is None:
        return None
    pairs = zip(_rates(output), _rates(headline), strict=True)
    passes = [of_output.passes - of_headline.passes for of_output, of_headline in pairs]
    return dict(zip(model.outcomes.contrast, passes, strict=True))


def _rates(estimate: BriefEstimate) -> tuple[Rate, Rate]:
    return estimate.paired.baseline_rate, estimate.paired.challenger_rate


def _share(name: str, counts: dict[str, int], measured: dict[str, int]) -> str:
    return f"{_arms(counts, measured)} (`{name}`)"


def _arms(counts: dict[str, int], measured: dict[str, int]) -> str:
    return ", ".join(f"{SHELLS[shell].short_title} {counts.get(shell, 0)}/{of}" for shell, of in measured.items())
