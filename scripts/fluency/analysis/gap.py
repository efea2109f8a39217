"""The gap between the contrasted arms, exactly, over the tasks measured in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fluency.analysis.outcomes import Outcomes, Rate, rate_over


@dataclass(frozen=True)
class Paired:
    """The tasks measured well enough in both contrasted arms, and their rates; never empty."""

    tasks: tuple[str, ...]
    dropped: tuple[str, ...]
    baseline: tuple[Fraction, ...]
    challenger: tuple[Fraction, ...]
    baseline_rate: Rate
    challenger_rate: Rate

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """Per task: the challenger's rate less the baseline's."""
        return tuple(c - b for b, c in zip(self.baseline, self.challenger, strict=True))

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
    arms = (outcomes.baseline, outcomes.challenger)
    kept = [i for i in range(len(outcomes.tasks)) if min(arm.scored[i] for arm in arms) >= outcomes.enough]
    if not kept:
        return None
    baseline, challenger = (tuple(Fraction(arm.passes[i], arm.scored[i]) for i in kept) for arm in arms)
    baseline_rate, challenger_rate = (rate_over(arm, kept) for arm in arms)
    return Paired(
        tasks=tuple(outcomes.tasks[i] for i in kept),
        dropped=tuple(task for i, task in enumerate(outcomes.tasks) if i not in set(kept)),
        baseline=baseline,
        challenger=challenger,
        baseline_rate=baseline_rate,
        challenger_rate=challenger_rate,
    )


def integers(differences: Sequence[Fraction]) -> tuple[list[int], int]:
    """Differences as integers over one denominator: (L*d_i, L)."""
    scale = lcm(*(d.denominator for d in differences))
    return [int(d * scale) for d in differences], scale


def missing_bounds(outcomes: Outcomes) -> tuple[Fraction, Fraction]:
    """The gap over ALL tasks if every unmeasured trial had gone against the challenger, and for it."""
    size = outcomes.trials * len(outcomes.tasks)
    baseline, challenger = outcomes.baseline, outcomes.challenger
    measured = challenger.total_passes - baseline.total_passes
    against = measured - (size - baseline.total_scored)
    in_favour = measured + (size - challenger.total_scored)
    return Fraction(against, size), Fraction(in_favour, size)
