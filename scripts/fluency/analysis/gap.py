"""The gap between the arms, exactly, and the band of the decision table it falls in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Literal

from fluency.analysis.analysis_plan import DIRECTION, NOISE
from fluency.analysis.outcomes import Outcomes, Rate

Band = Literal["pwsh", "inconclusive", "falsified", "bash"]
BANDS: tuple[Band, ...] = ("pwsh", "inconclusive", "falsified", "bash")


def band_of(gap: Fraction) -> Band:
    """The decision table's band of an exact gap.

    Exactly 5 points is inconclusive, exactly 10 points a direction. A float is refused: on the grid of one
    point that this design produces, rounding puts half of the boundary cases into the wrong band.
    """
    if not isinstance(gap, Fraction):
        raise TypeError(f"bands are decided on exact fractions, got {type(gap).__name__}")
    if gap >= DIRECTION:
        return "pwsh"
    if gap <= -DIRECTION:
        return "bash"
    return "falsified" if abs(gap) < NOISE else "inconclusive"


@dataclass(frozen=True)
class Paired:
    """The tasks measured well enough in both shells, and their rates; never empty."""

    tasks: tuple[str, ...]
    dropped: tuple[str, ...]
    bash: tuple[Fraction, ...]
    pwsh: tuple[Fraction, ...]
    bash_rate: Rate
    pwsh_rate: Rate

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """Per task: rate in PowerShell less rate in Bash."""
        return tuple(p - b for p, b in zip(self.pwsh, self.bash, strict=True))

    @property
    def gap(self) -> Fraction:
        """Mean of the per-task differences."""
        return mean(self.differences)

    @property
    def differing(self) -> int:
        """Tasks whose two rates differ."""
        return sum(d != 0 for d in self.differences)


def mean(values: Sequence[Fraction]) -> Fraction:
    """The exact mean of at least one fraction."""
    return sum(values, Fraction()) / len(values)


def pair(outcomes: Outcomes) -> Paired | None:
    """The tasks that enter the comparison, or None if there are none."""
    kept = [
        i
        for i in range(len(outcomes.tasks))
        if min(outcomes.bash.scored[i], outcomes.pwsh.scored[i]) >= outcomes.enough
    ]
    if not kept:
        return None
    rates = {}
    totals = {}
    for shell in ("bash", "pwsh"):
        arm = outcomes.arm(shell)
        rates[shell] = tuple(Fraction(arm.passes[i], arm.scored[i]) for i in kept)
        passes, scored = sum(arm.passes[i] for i in kept), sum(arm.scored[i] for i in kept)
        totals[shell] = Rate(mean(rates[shell]), passes, scored, len(kept))
    return Paired(
        tasks=tuple(outcomes.tasks[i] for i in kept),
        dropped=tuple(task for i, task in enumerate(outcomes.tasks) if i not in set(kept)),
        bash=rates["bash"],
        pwsh=rates["pwsh"],
        bash_rate=totals["bash"],
        pwsh_rate=totals["pwsh"],
    )


def integers(differences: Sequence[Fraction]) -> tuple[list[int], int]:
    """Differences as integers over one denominator: (L*d_i, L)."""
    scale = lcm(*(d.denominator for d in differences))
    return [int(d * scale) for d in differences], scale


def missing_bounds(outcomes: Outcomes) -> tuple[Fraction, Fraction]:
    """The gap over ALL tasks if every unmeasured trial had gone against PowerShell, and for it."""
    size = outcomes.trials * len(outcomes.tasks)
    lacking_pwsh = size - outcomes.pwsh.total_scored
    lacking_bash = size - outcomes.bash.total_scored
    measured = outcomes.pwsh.total_passes - outcomes.bash.total_passes
    return Fraction(measured - lacking_bash, size), Fraction(measured + lacking_pwsh, size)
