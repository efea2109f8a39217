"""Simulated studies: populations of tasks with true rates in two shells, and the passes that trials on them give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from fluency.analysis.scenarios import SCENARIOS, Scenario, draw_rates

POOL = 100_000
"""Tasks in a population; studies draw theirs from it."""


@dataclass(frozen=True)
class Studies:
    """Passes of baseline and challenger, (studies, tasks) each, out of `trials`; `truth`: of one, tasks like these.

    `fixed`: the true gap on each study's own tasks.
    """

    baseline: np.ndarray
    challenger: np.ndarray
    trials: int
    truth: float
    fixed: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """Per task, in passes: the challenger's less the baseline's."""
        return self.challenger - self.baseline


def studies(
    rates: tuple[np.ndarray, np.ndarray],
    count: int,
    tasks: int,
    trials: int,
    rng: np.random.Generator,
) -> Studies:
    """`count` studies of a population of tasks, given by its true rates in both shells."""
    chosen = rng.integers(0, len(rates[0]), size=(count, tasks))
    baseline, challenger = (rng.binomial(trials, rate[chosen]).astype(np.int64) for rate in rates)
    below, above = (rate[chosen] for rate in rates)
    truth = float(np.mean(rates[1]) - np.mean(rates[0]))
    return Studies(baseline, challenger, trials, truth, (above - below).mean(axis=1))


@cache
def population(name: str, gap: float, mean: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A scenario's true rates; `mean` puts another baseline's mean in its place."""
    scenario = SCENARIOS[name]
    if mean is not None:
        scenario = Scenario(
            name, scenario.words, mean, scenario.precision, scenario.tie, scenario.traps
        )
    return draw_rates(scenario, gap, POOL, np.random.default_rng(round(1000 * (gap + 1)) + 7))


def shifted(logit: float, effect: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rates whose log odds are normal about `logit` (sd 2), and are moved by `effect` (sd 0.5) in the challenger."""
    odds = rng.normal(logit, 2.0, POOL)
    moved = odds + rng.normal(effect, 0.5, POOL)
    return 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-moved))


def passing(below: float, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates as in `shifted`, of these means."""

    def at(logit: float, effect: float) -> tuple[np.ndarray, np.ndarray]:
        return shifted(logit, effect, np.random.default_rng(11))

    logit = brentq(lambda x: at(x, 0.0)[0].mean() - below, -10, 10)
    return at(logit, brentq(lambda x: at(logit, x)[1].mean() - above, -10, 10))


def by_category(spread: float, count: int, rng: np.random.Generator) -> Studies:
    """Studies of 20 tasks in 4 categories, whose effect on the rate is shared by the category's tasks."""
    below = np.clip(population("A2", 0.0)[0][rng.integers(0, POOL, size=(count, 20))], 0.15, 0.85)
    effects = np.repeat(rng.uniform(-spread, spread, size=(count, 4)), 5, axis=1)
    above = np.clip(below + effects, 0, 1)
    return Studies(
        rng.binomial(5, below), rng.binomial(5, above), 5, 0.0, (above - below).mean(axis=1)
    )
