"""How sure the gap is: intervals and task resamples.

Two different questions, never to be confused. S, "tasks like these": the tasks are treated as a sample.
F, "these tasks": only the trials vary. Every function works on one model's paired differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, norm
from scipy.stats import t as student

from fluency.analysis.analysis_plan import ALPHA, RESAMPLE_SEED, RESAMPLES
from fluency.analysis.bands import BANDS, Band, band_of
from fluency.analysis.gap import integers, mean
from fluency.analysis.outcomes import Outcomes


class Interval(NamedTuple):
    """Two-sided interval for the gap, as fractions of one, clipped to [-1, 1]."""

    low: float
    high: float


def task_sd(differences: Sequence[Fraction]) -> float:
    """Sample standard deviation of the per-task differences (T - 1); 0 for a single task."""
    if len(differences) < 2:
        return 0.0
    centre = mean(differences)
    return sqrt(sum((d - centre) ** 2 for d in differences) / (len(differences) - 1))


def t_interval(differences: Sequence[Fraction], level: float = 1 - ALPHA) -> Interval | None:
    """S: gap ± t(level, T-1) · sd / √T. None for fewer than two tasks, or when all tasks differ alike.

    Equal differences give a width of zero, which is not certainty; `floored_interval` is for that case.
    Formula: the paired t interval of any textbook; for evaluations see Miller (2024), arXiv 2411.00640.
    """
    size = len(differences)
    spread = task_sd(differences)
    if size < 2 or spread == 0:
        return None
    return _around(mean(differences), float(student.ppf((1 + level) / 2, size - 1)) * spread / sqrt(size))


def floored_interval(differences: Sequence[Fraction], level: float = 1 - ALPHA) -> Interval:
    """S with a floor: two pseudo-tasks at ±1/2 enter the variance, not the centre; df = T + 1.

    The same idea as the add-one adjusted intervals for paired proportions (Bonett and Price 2012).
    """
    size = len(differences)
    centre = mean(differences)
    squares = float(sum((d - centre) ** 2 for d in differences)) + 0.5
    error = sqrt(squares / ((size + 1) * (size + 2)))
    return _around(centre, float(student.ppf((1 + level) / 2, size + 1)) * error)


def fixed_task_halfwidth(outcomes: Outcomes, level: float = 1 - ALPHA) -> float | None:
    """F: z(level) · √(ΣΣ p(1-p)/(n-1)) / T over the tasks that enter; None where a task has one trial."""
    variance = 0.0
    tasks = 0
    for i in range(len(outcomes.tasks)):
        cells = [(arm.passes[i], arm.scored[i]) for arm in (outcomes.baseline, outcomes.challenger)]
        if min(n for _, n in cells) < outcomes.enough:
            continue
        if min(n for _, n in cells) < 2:
            return None
        tasks += 1
        variance += sum(c * (n - c) / n**2 / (n - 1) for c, n in cells)
    return float(norm.ppf((1 + level) / 2) * sqrt(variance) / tasks) if tasks else None


def band_shares(differences: Sequence[Fraction]) -> dict[Band, Fraction]:
    """Share of task resamples whose gap falls in each band: 10,000 draws, seeded, compared in integers."""
    scaled, scale = integers(differences)
    size = len(scaled)
    draws = np.random.default_rng(RESAMPLE_SEED).integers(0, size, size=(RESAMPLES, size))
    # Whole numbers of any size: unequal denominators make them too large for machine integers.
    sums = np.asarray(scaled, dtype=object)[draws].sum(axis=1)
    shares: dict[Band, Fraction] = dict.fromkeys(BANDS, Fraction())
    for total, count in Counter(sums.tolist()).items():
        shares[band_of(Fraction(total, scale * size))] += Fraction(count, RESAMPLES)
    return shares


def clopper_pearson(successes: int, size: int, level: float = 1 - ALPHA) -> tuple[float, float]:
    """Exact interval of a binomial share (Clopper and Pearson 1934); (0, 1) when nothing was seen."""
    low = float(beta.ppf((1 - level) / 2, successes, size - successes + 1)) if successes else 0.0
    high = float(beta.ppf((1 + level) / 2, successes + 1, size - successes)) if successes < size else 1.0
    return low, high


def _around(centre: Fraction, half: float) -> Interval:
    return Interval(max(-1.0, float(centre) - half), min(1.0, float(centre) + half))
