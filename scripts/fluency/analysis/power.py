"""What gap a design can detect, and how large a study must be.

Before a study the spread of the per-task differences is assumed. A task has a true pass rate in
each contrasted shell, from Beta distributions of mean mu and mu + gap, tied by a Gaussian copula:
most tasks are easy or hard, and the shells much alike. tools/simulate has other populations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import count
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, nctdtr, nctdtrinc, ndtr, stdtrit

from fluency.analysis import decision_table as plan
from fluency.core.shells import gap_shells
from fluency.core.study import Study

Rates = tuple[np.ndarray, np.ndarray]
"""True pass rates of tasks in baseline and challenger."""
Spread = Callable[[float], float]
"""True gap -> standard deviation of the per-task differences, both in shares of one."""


def draw_rates(
    mean: float,
    gap: float,
    size: int,
    rng: np.random.Generator,
    precision: float = 0.4,
    tie: float = 0.9,
) -> Rates:
    """The true rates of `size` tasks.

    Args:
        mean: The baseline's.
        gap: The challenger's mean less the baseline's.
        size: Number of tasks.
        rng: Random numbers.
        precision: The Beta distributions' a + b.
        tie: The copula's correlation.
    """
    first = rng.standard_normal(size)
    second = tie * first + np.sqrt(1 - tie**2) * rng.standard_normal(size)
    return beta_rates(first, mean, precision), beta_rates(second, mean + gap, precision)


def beta_rates(normal: np.ndarray, mean: float, precision: float) -> np.ndarray:
    """Normal numbers as rates of a Beta distribution."""
    rates: np.ndarray = betaincinv(mean * precision, (1 - mean) * precision, ndtr(normal))
    return rates


def spread_of(
    draw: Callable[[float, int, np.random.Generator], Rates], largest_gap: float, trials: int
) -> Spread:
    """The spread of a population, looked up on a grid of 2.5 points.

    Args:
        draw: Gap, number of tasks and random numbers -> their rates.
        largest_gap: That the population can hold.
        trials: Of each task and shell.
    """

    @cache
    def at(step: int) -> float:
        rates = draw(min(step * 0.025, largest_gap), 20_000, np.random.default_rng(1))
        baseline, challenger = rates
        within = baseline * (1 - baseline) + challenger * (1 - challenger)
        return sqrt(np.var(challenger - baseline) + np.mean(within) / trials)

    return lambda gap: at(round(gap / 0.025))


def assumed_spread(rate: float, trials: int) -> Spread:
    """The spread where both shells pass at one rate; above a half its mirror's."""
    mean = min(rate, 1 - rate)
    return spread_of(partial(draw_rates, mean), 0.95 - mean, trials)


def critical(tasks: int) -> float:
    """The quantile of t that the interval takes."""
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2))


def detectable(spread: Spread, tasks: int) -> float:
    """Smallest gap (of one) found 80 % of the time."""
    shift, gap = float(nctdtrinc(tasks - 1, 1 - plan.POWER, critical(tasks))), 0.1
    for _ in range(20):
        gap = min(1.0, shift * spread(gap) / sqrt(tasks))
    return gap


class SampleSizes(NamedTuple):
    """Tasks of the same kind and number of trials that answer a question in 80 % of studies.

    Attributes:
        ahead: Who is ahead, at a true gap of 10 points; the same number shows 10 or more at 20.
        no_difference: That the gap is less than 5 points either way, at a true gap of 0.
    """

    ahead: int
    no_difference: int


def sample_sizes(spread: Spread) -> SampleSizes | None:
    """The sizes; None if there is no spread, which is not certainty."""
    if not (spread(0.10) and spread(0)):
        return None
    direction, noise = float(plan.DIRECTION) / spread(0.10), float(plan.NOISE) / spread(0)
    return SampleSizes(
        next(size for size in count(2) if finds(direction, size) >= plan.POWER),
        next(size for size in count(2) if excludes(noise, size) >= plan.POWER),
    )


def finds(effect: float, size: int) -> float:
    """How often the interval excludes 0; `effect` is the true gap in standard deviations."""
    return float(1 - nctdtr(size - 1, effect * sqrt(size), critical(size)))


def excludes(margin: float, size: int) -> float:
    """How often the interval lies within ± `margin` standard deviations, at a true gap of 0."""
    return max(0.0, 2 * float(ndtr(margin * sqrt(size) - critical(size))) - 1)


def outlook(rate: float, tasks: int, trials: int) -> tuple[float, float]:
    """Of studies whose shells pass at one rate: the share that cannot tell, and the gap found.

    A ceiling is computed as the floor that it mirrors.
    """
    rng = np.random.default_rng(plan.SEED)
    rates = np.array(draw_rates(min(rate, 1 - rate), 0.0, 20_000, rng))
    rates = rates[:, rng.integers(0, 20_000, size=(4000, tasks))]
    passes = rng.binomial(trials, rates).sum(axis=2)
    cannot_tell = float((passes.max(axis=0) <= plan.FLOOR * tasks * trials).mean())
    return cannot_tell, detectable(assumed_spread(rate, trials), tasks)


def outlook_lines(study: Study, tasks: int) -> list[str]:
    """What a study of this number of tasks can find; nothing if it compares no shells."""
    rate = study.assume
    if not set(gap_shells(study.shells)) <= set(study.shells):
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    cannot_tell, gap = outlook(rate, tasks, study.trials)
    at, space = f"{100 * rate:g} %", min(rate, 1 - rate)
    side, hard = ("below", "hard") if rate < 0.5 else ("above", "easy")
    return [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * cannot_tell:.0f} % "
        f"of studies end with tasks too {hard} to tell by how much the "
        f"shells differ. A gap of {100 * gap:.0f} points is found {100 * plan.POWER:.0f} % "
        f"of the time; {side} {at} a gap of up to {100 * space:.0f} fits.",
    ]
