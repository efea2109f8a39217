"""The interval of a mean over tasks, and the intervals of the appendix."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from statistics import stdev
from typing import NamedTuple

# Not scipy.stats, whose import takes half a second.
from scipy.special import betaincinv, ndtri, stdtrit

from fluency.analysis.decision_table import ALPHA
from fluency.analysis.outcomes import Outcomes, mean


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
    half = 0.0
    if size > 1:
        half = float(stdtrit(size - 1, 1 - ALPHA / 2)) * sqrt(squares / (size - 1) / size)
    if near_edge or not squares:
        error = sqrt((squares + reach**2 / 2) / ((size + 1) * (size + 2)))
        half = max(half, float(stdtrit(size + 1, 1 - ALPHA / 2)) * error)
    low, high = max(-reach, float(centre) - half), min(reach, float(centre) + half)
    return Interval(Fraction(round(1000 * low), 1000), Fraction(round(1000 * high), 1000))


def task_sd(differences: Sequence[Fraction]) -> float:
    """Sample standard deviation of the per-task differences (T - 1); 0 for a single task."""
    return float(stdev(differences)) if len(differences) > 1 else 0.0


def fixed_task_halfwidth(paired: Outcomes) -> float | None:
    """Half-width of the 95 % interval for exactly these tasks, from the trials' noise alone.

    None if a task has one trial, which does not show its own noise.
    """
    cells = [
        cell
        for counts in (paired.baseline, paired.challenger)
        for cell in zip(counts.passes, counts.scored, strict=True)
    ]
    if min(n for _, n in cells) < 2:
        return None
    noise = sum(c * (n - c) / n**2 / (n - 1) for c, n in cells)
    return float(ndtri(1 - ALPHA / 2)) * sqrt(noise) / len(paired.tasks)


def clopper_pearson(successes: int, size: int) -> tuple[float, float]:
    """Exact 95 % interval of a binomial share; (0, 1) when nothing was seen."""
    low, high = 0.0, 1.0
    if successes:
        low = float(betaincinv(successes, size - successes + 1, ALPHA / 2))
    if successes < size:
        high = float(betaincinv(successes + 1, size - successes, 1 - ALPHA / 2))
    return low, high
