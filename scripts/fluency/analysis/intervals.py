"""Intervals, resamples and the sign-flip p."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import gcd, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import (
    betaincinv,
    ndtri,
    stdtrit,
)  # the import of scipy.stats takes half a second

from fluency.analysis import plan
from fluency.analysis.outcomes import Outcomes, PairedRates, integers, mean, trial_noise

LEVEL = 1 - plan.ALPHA


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


def t_interval(differences: Sequence[Fraction], level: float = LEVEL) -> Interval | None:
    """S: gap ± t(level, T-1) · sd / √T. None for fewer than two tasks, or when all tasks differ alike.

    Equal differences give a width of zero, which is not certainty; `floored_interval` is for that case.
    Formula: the paired t interval of any textbook; for evaluations see Miller (2024), arXiv 2411.00640.
    """
    size = len(differences)
    spread = task_sd(differences)
    if size < 2 or spread == 0:
        return None
    return _around(
        mean(differences), float(stdtrit(size - 1, (1 + level) / 2)) * spread / sqrt(size)
    )


def floored_interval(differences: Sequence[Fraction], level: float = LEVEL) -> Interval:
    """S with a floor: two pseudo-tasks at ±1/2 enter the variance, not the centre; df = T + 1.

    The same idea as the add-one adjusted intervals for paired proportions (Bonett and Price 2012).
    """
    size = len(differences)
    centre = mean(differences)
    squares = float(sum((d - centre) ** 2 for d in differences)) + 0.5
    error = sqrt(squares / ((size + 1) * (size + 2)))
    return _around(centre, float(stdtrit(size + 1, (1 + level) / 2)) * error)


def task_interval(
    differences: Sequence[Fraction],
    level: float = LEVEL,
    *,
    near_edge: bool = False,
    least: float | None = None,
) -> Interval:
    """S as reported: the t interval; the floored one where there is no t, and near an edge where that is wider.

    Never narrower than `least`, the half-width on these tasks: with no spread between tasks the trials still vary.
    """
    found = [interval for interval in (t_interval(differences, level),) if interval]
    if near_edge or not found:
        found.append(floored_interval(differences, level))
    if least:
        found.append(_around(mean(differences), least))
    return Interval(min(low for low, _ in found), max(high for _, high in found))


def gap_interval(outcomes: Outcomes, paired: PairedRates, level: float = LEVEL) -> Interval:
    """S of a gap."""
    near_edge = any(
        plan.edge_of(rate.value) for rate in (paired.baseline_rate, paired.challenger_rate)
    )
    fixed = fixed_task_halfwidth(outcomes, paired, level)
    return task_interval(paired.differences, level, near_edge=near_edge, least=fixed)


def fixed_task_halfwidth(
    outcomes: Outcomes, paired: PairedRates, level: float = LEVEL
) -> float | None:
    """F: z(level) · √(mean over the compared tasks of Σ p(1-p)/(n-1) / T); None where a task has one trial."""
    noise = trial_noise(outcomes, paired)
    return (
        None
        if noise is None
        else float(ndtri((1 + level) / 2)) * sqrt(noise[1] / len(paired.tasks))
    )


def band_shares(differences: Sequence[Fraction]) -> dict[plan.Band, Fraction]:
    """Share of task resamples whose gap falls in each band: 10,000 draws, seeded, compared in integers."""
    scaled, scale = integers(differences)
    size = len(scaled)
    draws = np.random.default_rng(plan.RESAMPLE_SEED).integers(0, size, size=(plan.RESAMPLES, size))
    # Whole numbers of any size: unequal denominators make them too large for machine integers.
    sums = np.asarray(scaled, dtype=object)[draws].sum(axis=1)
    shares: dict[plan.Band, Fraction] = dict.fromkeys(plan.BANDS, Fraction())
    for total, count in Counter(sums.tolist()).items():
        shares[plan.band_of(Fraction(total, scale * size))] += Fraction(count, plan.RESAMPLES)
    return shares


def clopper_pearson(successes: int, size: int, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of a binomial share (Clopper and Pearson 1934); (0, 1) when nothing was seen."""
    low = float(betaincinv(successes, size - successes + 1, (1 - level) / 2)) if successes else 0.0
    high = (
        float(betaincinv(successes + 1, size - successes, (1 + level) / 2))
        if successes < size
        else 1.0
    )
    return low, high


def _around(centre: Fraction, half: float) -> Interval:
    return Interval(max(-1.0, float(centre) - half), min(1.0, float(centre) + half))


class PValue(NamedTuple):
    """A p and the standard error of its drawing; an exact p has none."""

    value: Fraction
    error: float = 0.0

    @property
    def upper(self) -> float | Fraction:
        """What is compared with a level: the p itself, or the end of a drawn one's 95 % interval."""
        return self.value + 1.96 * self.error if self.error else self.value


def sign_flip(differences: Sequence[Fraction]) -> PValue:
    """The mid-p of one model's per-task differences: twice the one-sided one, in which a tie counts half."""
    steps = reduced_steps(differences)
    observed, sizes = abs(sum(steps)), sorted(map(abs, steps), reverse=True)
    if not observed:
        return PValue(Fraction(1))
    return (
        _sampled_p(sizes, observed)
        if sum(sizes) > plan.MAX_EXACT_UNITS
        else PValue(_exact_p(sizes, observed))
    )


def reduced_steps(differences: Sequence[Fraction]) -> list[int]:
    """The differences that are not 0, in their largest common unit: the sums to be counted lie within their total."""
    scaled = [value for value in integers(differences)[0] if value]
    unit = gcd(*scaled)
    return [value // unit for value in scaled]


def _exact_p(sizes: Sequence[int], observed: int) -> Fraction:
    """All 2^T sign patterns, as the coefficients of Π (1 + x^size), packed side by side into one integer."""
    width, ways = len(sizes) + 1, 1
    for size in sizes:
        ways += ways << size * width
    beyond = ways >> (sum(sizes) + observed) // 2 * width
    # The digits of a number to the base 2^width add up to it modulo 2^width - 1, and to less than that here.
    as_far, ties = beyond % ((1 << width) - 1), beyond % (1 << width)
    return Fraction(2 * as_far - ties, 1 << len(sizes))


def _sampled_p(sizes: Sequence[int], observed: int) -> PValue:
    """Of seeded sign patterns, the observed one among them, the share further out and half the share of ties.

    In shares of the largest difference, since the units can be too small for machine integers.
    """
    rng, values = (
        np.random.default_rng(plan.RESAMPLE_SEED),
        np.array([size / sizes[0] for size in sizes]),
    )
    halves, edge = 1, observed / sizes[0]
    for size in [plan.SIGN_FLIP_SAMPLES // 10] * 10:
        signs = 2.0 * rng.integers(0, 2, size=(size, len(values)), dtype=np.int8) - 1
        far = np.abs(signs @ values)
        halves += int((far > edge - 1e-9).sum() + (far > edge + 1e-9).sum())
    p = Fraction(halves, 2 * (plan.SIGN_FLIP_SAMPLES + 1))
    return PValue(
        p, sqrt(max(float(p * (1 - p)), 1 / plan.SIGN_FLIP_SAMPLES) / plan.SIGN_FLIP_SAMPLES)
    )
