"""The gap between two shells, its interval and what that shows, and the decision table's row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import mean  # exact on fractions
from typing import Literal, NamedTuple

# Not scipy.stats, whose import takes half a second.
from scipy.special import betaincinv

from fluency.analysis import decision_table as plan
from fluency.analysis.outcomes import Outcomes
from fluency.analysis.power import SampleSizes, half_width, sample_sizes


class Interval(NamedTuple):
    """A two-sided 95 % interval in shares of one, rounded to a tenth of a point.

    It is rounded as it is printed, because every claim is read off the printed numbers.
    """

    low: Fraction
    high: Fraction


def task_interval(
    differences: Sequence[Fraction], *, near_edge: bool = False, reach: int = 1
) -> Interval:
    """The interval of the mean of per-task differences: the paired t, T - 1 degrees of freedom.

    The floored interval takes its place where all differences are equal, which gives the t no
    width and is not certainty, and near an edge where it is wider. In it two pseudo-tasks at
    half of the reach enter the variance, not the centre; df = T + 1. The same idea as the
    add-one intervals for paired proportions (Bonett and Price 2012).

    Args:
        differences: One for each task.
        near_edge: Whether a rate behind them is near 0 or 1.
        reach: The largest difference there can be: 1 of two rates, 2 of two gaps.
    """
    size, centre = len(differences), mean(differences)
    squares = float(sum((value - centre) ** 2 for value in differences))
    half = float(half_width(squares, size, floored=near_edge or not squares, reach=reach))
    low, high = max(-reach, float(centre) - half), min(reach, float(centre) + half)
    return Interval(Fraction(round(1000 * low), 1000), Fraction(round(1000 * high), 1000))


def clopper_pearson(successes: int, size: int) -> tuple[float, float]:
    """Exact 95 % interval of a binomial share; (0, 1) when nothing was seen."""
    low, high = 0.0, 1.0
    if successes:
        low = float(betaincinv(successes, size - successes + 1, plan.ALPHA / 2))
    if successes < size:
        high = float(betaincinv(successes + 1, size - successes, 1 - plan.ALPHA / 2))
    return low, high


class LeaveOut(NamedTuple):
    """Gaps with one part left out; `flips` are the parts without which the band is another."""

    low: Fraction
    high: Fraction
    flips: tuple[str, ...]
    parts: int


@dataclass(frozen=True)
class GapEstimate:
    """The gap of one model, in shares of one.

    Attributes:
        paired: The compared tasks and their rates.
        worst: If all missing trials had gone against the challenger, and for it; empty without any.
    """

    paired: Outcomes
    worst: tuple[GapEstimate, ...] = ()

    @cached_property
    def interval(self) -> Interval:
        """95 %, for tasks like these; every claim below is read off it."""
        return task_interval(self.paired.differences, near_edge=self.near_edge)

    @property
    def value(self) -> Fraction:
        return self.paired.gap

    @property
    def band(self) -> plan.Band:
        """The row of the decision table, by the point estimate."""
        return plan.band_of(self.value)

    @property
    def edge(self) -> plan.Edge | None:
        """The edge that both shells are at, where harder or easier tasks may differ more."""
        one, other = map(plan.edge_of, self.paired.rates)
        return one if one == other else None

    @property
    def ahead(self) -> plan.Band | None:
        """Who is ahead on tasks like these: the interval excludes 0."""
        if self.interval.low > 0:
            return "challenger"
        return "baseline" if self.interval.high < 0 else None

    @property
    def size(self) -> Literal["ten-or-more", "under-five", "under-ten", "open"]:
        """By how much the shells differ; open where the interval does not say."""
        if self.interval.low >= plan.DIRECTION or self.interval.high <= -plan.DIRECTION:
            return "ten-or-more"
        widest = max(map(abs, self.interval))
        if widest < plan.NOISE:
            return "under-five"
        return "under-ten" if widest < plan.DIRECTION else "open"

    @property
    def supported(self) -> bool:
        """Whether the whole interval lies in the row of the point estimate."""
        return plan.bands_within(*self.interval) == {self.band}

    @property
    def provisional(self) -> bool:
        """Whether the missing trials could change the row, or refute who is ahead or the size."""
        if not self.worst:
            return False
        row = plan.bands_within(*(each.value for each in self.worst)) != {self.band}
        sizes = {self.size} | ({"under-five"} if self.size == "under-ten" else set())
        return row or any(
            self.ahead not in (None, each.ahead) or (self.size != "open" and each.size not in sizes)
            for each in self.worst
        )

    @cached_property
    def needed(self) -> SampleSizes | None:
        """Tasks that would answer each question; None if all tasks differ alike."""
        return sample_sizes(self.spread, self.near_edge)

    def spread(self, gap: float) -> float:
        """The spread that was seen, for any true gap."""
        return self.paired.sd

    @property
    def near_edge(self) -> bool:
        """Whether a shell passes almost nothing or almost everything."""
        return any(map(plan.edge_of, self.paired.rates))

    @property
    def differing_bound(self) -> float:
        """Clopper-Pearson upper limit of the share of tasks that differ."""
        return clopper_pearson(self.paired.differing, len(self.paired.tasks))[1]

    def flat(self, rate: int) -> tuple[str, ...]:
        """The tasks that were always passed in both shells (1), or never in either (0)."""
        rates = (own.rates for own in self.paired.by_shell.values())
        by_task = zip(self.paired.tasks, *rates, strict=True)
        return tuple(task for task, one, other in by_task if one == other == rate)

    @property
    def informative(self) -> int:
        """How many tasks separate the shells."""
        return len(self.paired.tasks) - len(self.flat(0)) - len(self.flat(1))

    def by_part(self, part_of: Mapping[str, str]) -> dict[str, tuple[Fraction, int]]:
        """The gap and the number of tasks of each part, by task -> part."""
        parts: dict[str, list[Fraction]] = {}
        for task, difference in zip(self.paired.tasks, self.paired.differences, strict=True):
            parts.setdefault(part_of[task], []).append(difference)
        return {part: (mean(values), len(values)) for part, values in parts.items()}

    def leave_out(self, part_of: Mapping[str, str] | None = None) -> LeaveOut | None:
        """Leave each part of the tasks out in turn, by task -> part; None if there is one part.

        Without parts each task is one.
        """
        tasks = self.paired.tasks
        parts = self.by_part(part_of or dict(zip(tasks, tasks, strict=True)))
        if len(parts) < 2:
            return None
        gaps = {
            part: (self.value * len(tasks) - gap * size) / (len(tasks) - size)
            for part, (gap, size) in parts.items()
        }
        flips = tuple(part for part, gap in gaps.items() if plan.band_of(gap) != self.band)
        return LeaveOut(min(gaps.values()), max(gaps.values()), flips, len(parts))


def estimate_gap(outcomes: Outcomes) -> GapEstimate | None:
    """Estimate one model's gap; None if no task was measured well enough in both shells."""
    paired = outcomes.paired()
    if paired is None:
        return None
    return GapEstimate(paired, tuple(filter(None, map(estimate_gap, outcomes.completed()))))
