"""Simulated studies: populations of tasks with true rates in two shells, and the passes on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from fluency.analysis.power import Rates
from tools.simulate.scenarios import SCENARIOS

POOL = 100_000
"""Tasks in a population; studies draw theirs from it."""


@dataclass(frozen=True)
class Studies:
    """Passes of baseline and challenger, (studies, tasks) each.

    Attributes:
        baseline: Passes out of `trials`.
        challenger: Likewise.
        trials: Of each task and shell.
        truth: The true gap, of one, over tasks like these.
    """

    baseline: np.ndarray
    challenger: np.ndarray
    trials: int
    truth: float

    @property
    def steps(self) -> np.ndarray:
        """Per task, in passes: the challenger's less the baseline's."""
        return self.challenger - self.baseline


def studies(rates: Rates, count: int, tasks: int, trials: int, rng: np.random.Generator) -> Studies:
    """`count` studies of a population of tasks."""
    chosen = rng.integers(0, len(rates[0]), size=(count, tasks))
    baseline, challenger = (rng.binomial(trials, rate[chosen]).astype(np.int64) for rate in rates)
    return Studies(baseline, challenger, trials, float(np.mean(rates[1]) - np.mean(rates[0])))


@cache
def population(name: str, gap: float, mean: float | None = None) -> Rates:
    """A scenario's true rates; `mean` puts another baseline's mean in its place."""
    scenario = SCENARIOS[name]
    scenario = scenario if mean is None else replace(scenario, mean=mean)
    return scenario.draw(gap, POOL, np.random.default_rng(round(1000 * (gap + 1)) + 7))


@cache
def passing(below: float, above: float, spread: float) -> Rates:
    """Rates with these means: log odds normal (sd 2), moved by the challenger's effect.

    spread: The effect's standard deviation over tasks.
    """
    rng = np.random.default_rng(11)
    odds, effects = rng.normal(0, 2.0, POOL), rng.normal(0, spread, POOL)

    def rates(shift: float, moved: float) -> Rates:
        base = odds + shift
        return 1 / (1 + np.exp(-base)), 1 / (1 + np.exp(-base - effects - moved))

    shift = brentq(lambda x: rates(x, 0.0)[0].mean() - below, -10, 10)
    return rates(shift, brentq(lambda x: rates(shift, x)[1].mean() - above, -10, 10))
