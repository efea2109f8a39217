"""How many tasks each question takes, from the spread of the per-task differences that was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt

from scipy.stats import nct, norm
from scipy.stats import t as student

from fluency.analysis.analysis_plan import ALPHA, POWER
from fluency.analysis.bands import DIRECTION, NOISE


@dataclass(frozen=True)
class SampleSizes:
    """Tasks like these, with as many trials as were taken, at which a question is answered in 80 % of studies.

    ahead: who is, of a true gap of 10 points; as many for 10 points or more, of a true gap of 20.
    no_difference: that the gap is less than 5 points either way, of a true gap of 0.
    """

    ahead: int
    no_difference: int


def sample_sizes(spread: float) -> SampleSizes | None:
    """From the standard deviation of the per-task differences, of one; None where it is 0, which is no certainty."""
    if spread <= 0:
        return None
    direction, noise = float(DIRECTION) / spread, float(NOISE) / spread
    two_sided = norm.ppf(1 - ALPHA / 2) + norm.ppf(POWER)
    two_tests = norm.ppf(1 - ALPHA) + norm.ppf((1 + POWER) / 2)
    return SampleSizes(
        _smallest(lambda size: finds(direction, size), (two_sided / direction) ** 2),
        _smallest(lambda size: excludes(noise, size), (two_tests / noise) ** 2),
    )


def finds(effect: float, size: int) -> float:
    """Power of the two-sided paired t test at 5 % over so many tasks; `effect` in standard deviations."""
    return float(nct.sf(student.ppf(1 - ALPHA / 2, size - 1), size - 1, effect * sqrt(size)))


def excludes(margin: float, size: int) -> float:
    """How often the 90 % interval lies within ± `margin` standard deviations, of a true gap of 0 and a known spread."""
    room = margin * sqrt(size) - student.ppf(1 - ALPHA, size - 1)
    return max(0.0, 2 * float(norm.cdf(room)) - 1)


def _smallest(power: Callable[[int], float], about: float) -> int:
    """The first size from just below the normal approximation on that has the power."""
    size = max(2, ceil(about) - 1)
    while power(size) < POWER:
        size += 1
    return size
