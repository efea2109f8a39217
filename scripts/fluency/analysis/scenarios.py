"""Made-up populations of tasks: for power without results, and for tests of the intervals.

A task has a true pass rate in each contrasted shell. The rates follow Beta distributions of mean mu
and mu + gap and precision k, tied by a Gaussian copula; or a quarter of the tasks are traps for one
shell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import betaincinv, ndtr

TRAP_SHARE, TRAP_LOW, TRAP_HIGH = 0.25, 0.10, 0.95


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        mean: The baseline's mean rate.
        precision: The Beta distribution's a + b.
        tie: The copula's correlation.
        traps: Whether a quarter of the tasks are traps.
    """

    name: str
    words: str
    mean: float
    precision: float
    tie: float
    traps: bool = False

    @property
    def largest_gap(self) -> float:
        """The largest true gap the scenario can hold."""
        return TRAP_SHARE * (TRAP_HIGH - TRAP_LOW) if self.traps else 0.95 - self.mean


SCENARIOS = {
    "A": Scenario("A", "most tasks easy or hard, shells much alike", 0.55, 0.4, 0.9),
    "A2": Scenario("A2", "difficulties milder, shells much alike", 0.55, 1.0, 0.9),
    "B": Scenario(
        "B",
        "most tasks easy or hard, and the shells matter differently from task to task",
        0.55,
        0.4,
        0.6,
    ),
    "C": Scenario(
        "C", "a quarter of the tasks are traps for one of the shells", 0.55, 0.4, 1.0, traps=True
    ),
    "D": Scenario("D", "most tasks easy, shells much alike", 0.78, 0.4, 0.9),
}


def draw_rates(
    scenario: Scenario, gap: float, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """True pass rates of `size` tasks in baseline and challenger, shape (size,) each."""
    first = rng.standard_normal(size)
    if scenario.traps:
        rates = _beta(first, scenario.mean, scenario.precision)
        trap = rng.random(size) < TRAP_SHARE
        for_challenger = rng.random(size) < 0.5 + gap / (2 * scenario.largest_gap)
        baseline = np.where(trap, np.where(for_challenger, TRAP_LOW, TRAP_HIGH), rates)
        return baseline, np.where(trap, TRAP_LOW + TRAP_HIGH - baseline, rates)
    second = scenario.tie * first + np.sqrt(1 - scenario.tie**2) * rng.standard_normal(size)
    return (
        _beta(first, scenario.mean, scenario.precision),
        _beta(second, scenario.mean + gap, scenario.precision),
    )


@cache
def moments(
    scenario: Scenario, gap: float, size: int = 20_000, seed: int = 1
) -> tuple[float, float]:
    """Variance of the true difference between tasks, and mean variance of a trial in both."""
    baseline, challenger = draw_rates(
        scenario, min(gap, scenario.largest_gap), size, np.random.default_rng(seed)
    )
    within = baseline * (1 - baseline) + challenger * (1 - challenger)
    return float(np.var(challenger - baseline)), float(np.mean(within))


def _beta(normal: np.ndarray, mean: float, precision: float) -> np.ndarray:
    rates: np.ndarray = betaincinv(mean * precision, (1 - mean) * precision, ndtr(normal))
    return rates
