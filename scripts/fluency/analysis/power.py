"""What gap a design can detect, and how large a study must be.

Before a study the spread of the per-task differences is assumed. A task has a true pass rate in
each contrasted shell, from Beta distributions of mean mu and mu + gap, tied by a Gaussian copula:
most tasks are easy or hard, and the shells much alike. tools/simulate has other populations.
"""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaincinv, nctdtrinc, ndtr, stdtrit

from fluency.analysis import decision_table as plan
from fluency.core.study import Study
from fluency.core.tasks import task_sets

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


QUANTILES = (np.arange(200) + 0.5) / 200
"""Of a sample's variance, over which a probability is averaged."""
LARGEST = "full"
"""The set of tasks that a larger study takes."""


def larger(tasks: int) -> int | None:
    """The number of its tasks, where that is more."""
    found = task_sets().get(LARGEST)
    return len(found.tasks) if found and len(found.tasks) > tasks else None


def critical(tasks: int) -> float:
    """The quantile of t that the interval takes."""
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2))


def half_width(
    squares: np.ndarray | float, tasks: int, *, floored: bool, reach: int = 1
) -> np.ndarray | float:
    """The interval's, from the differences' sum of squares; see `gap.task_interval`."""
    half = critical(tasks) * np.sqrt(squares / (tasks - 1) / tasks) if tasks > 1 else 0.0
    if not floored:
        return half
    error = np.sqrt((squares + reach**2 / 2) / ((tasks + 1) * (tasks + 2)))
    return np.maximum(half, critical(tasks + 2) * error)


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


def sample_sizes(spread: Spread, near_edge: bool = False) -> SampleSizes | None:
    """The sizes; None without spread, which is not certainty."""
    if not (spread(0.10) and spread(0)):
        return None
    sizes = range(2, 100_000)
    return SampleSizes(
        *(
            sizes[bisect_left(sizes, plan.POWER, key=lambda size: found(spread, size, near_edge))]
            for found in (finds, excludes)
        )
    )


def _shown(margin: float, spread: float, tasks: int, near_edge: bool) -> np.ndarray:
    """By quantile of the sample's variance: how often the margin exceeds the interval's half."""
    squares = 2 * spread**2 * gammaincinv((tasks - 1) / 2, QUANTILES)
    half = half_width(squares, tasks, floored=near_edge)
    return np.asarray(ndtr((margin - half) * sqrt(tasks) / spread))


def finds(spread: Spread, tasks: int, near_edge: bool = False) -> float:
    """How often the interval shows who is ahead, at a true gap of 10 points."""
    gap = float(plan.DIRECTION)
    return float(np.mean(_shown(gap, spread(gap), tasks, near_edge)))


def excludes(spread: Spread, tasks: int, near_edge: bool = False) -> float:
    """How often the interval shows less than 5 points either way, at a true gap of 0."""
    within = _shown(float(plan.NOISE), spread(0), tasks, near_edge)
    return float(np.mean(np.maximum(0, 2 * within - 1)))


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
    if len(study.shells) < 2:
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    cannot_tell, gap = outlook(rate, tasks, study.trials)
    spread, sizes = assumed_spread(rate, study.trials), {tasks: f"{tasks} tasks"}
    if most := larger(tasks):
        sizes[most] = f"the {most} of `{LARGEST}`"
    at, space = f"{100 * rate:g} %", min(rate, 1 - rate)
    side, hard = ("below", "hard") if rate < 0.5 else ("above", "easy")
    return [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * cannot_tell:.0f} % "
        f"of studies end with tasks that are {hard} for both. A gap of {100 * gap:.0f} points is "
        f"found {100 * plan.POWER:.0f} % of the time; {side} {at} a gap of up to "
        f"{100 * space:.0f} fits.",
        f"A gap of {plan.DIRECTION_PP} points is found in "
        + " and ".join(
            f"{100 * finds(spread, size, plan.edge_of(Fraction(rate)) is not None):.0f} of 100 "
            f"studies with {named}"
            for size, named in sizes.items()
        )
        + ".",
    ]
