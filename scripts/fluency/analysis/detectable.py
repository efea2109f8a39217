"""The smallest gap that a design detects, by the variances between tasks and of one trial."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt

from scipy.optimize import brentq
from scipy.stats import nct, norm
from scipy.stats import t as student

from fluency.analysis.analysis_plan import ALPHA, POWER
from fluency.analysis.scenarios import Scenario, moments

Variance = Callable[[float], tuple[float, float]]
"""By the true gap: between tasks, and of one trial in both arms."""
Detect = Callable[[Variance, int, float], float]
"""The smallest gap found, by variance, tasks and trials."""


@cache
def noncentrality(tasks: int) -> float:
    """The t statistic's shift that a two-sided test at 5 % over so many tasks finds 80 % of the time."""
    edge = student.ppf(1 - ALPHA / 2, tasks - 1)
    found = brentq(lambda shift: nct.sf(edge, tasks - 1, shift) - POWER, 0.5, 30, xtol=1e-6)
    return float(found)


def detectable_like(variance: Variance, tasks: int, trials: float) -> float:
    """Smallest gap (of one) detected for "tasks like these"; the variance may depend on the gap itself."""
    gap = 0.1
    for _ in range(20):
        between, within = variance(gap)
        gap, last = min(1.0, noncentrality(tasks) * sqrt((between + within / trials) / tasks)), gap
        if abs(gap - last) < 0.0005:
            break
    return gap


def detectable_these(variance: Variance, tasks: int, trials: float) -> float:
    """Smallest gap (of one) detected on exactly these tasks: trial noise alone, normal approximation."""
    _, within = variance(0.1)
    return float((norm.ppf(1 - ALPHA / 2) + norm.ppf(POWER)) * sqrt(within / trials / tasks))


def scenario_variance(scenario: Scenario) -> Variance:
    """A scenario's variances by gap, looked up on a grid of 2.5 points."""
    known = cache(lambda step: moments(scenario, step * 0.025))
    return lambda gap: known(round(gap / 0.025))
