"""What is done with simulated studies: the analysis's own methods on arrays, and those that it does not use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.stats import binom, norm
from scipy.stats import t as student

from fluency.analysis.intervals import sign_flip
from fluency.analysis.plan import BANDS, CEILING, FLOOR
from tools.simulate.studies import Studies

Ends = tuple[np.ndarray, np.ndarray]


def differences(found: Studies) -> np.ndarray:
    """Per task, of one."""
    return found.steps / found.trials


def report_interval(found: Studies, level: float = 0.95, *, near_edge: bool = True) -> Ends:
    """S as in the report; not `near_edge`: as it is for the test of who is ahead."""
    d, runs = differences(found), found.trials * found.steps.shape[1]
    passed = np.array([found.baseline.sum(axis=1), found.challenger.sum(axis=1)]) / runs
    edge = ((passed <= float(FLOOR)) | (passed >= float(CEILING))).any(axis=0)
    floored = np.where(edge & near_edge, half(floored_interval(d, level)), 0)
    return around(
        d, np.maximum.reduce([half(t_interval(d, level)), floored, fixed_half(found, level)])
    )


def t_interval(d: np.ndarray, level: float = 0.95) -> Ends:
    """The paired t interval, and the floored one where all tasks of a study differ alike."""
    size = d.shape[1]
    halves = student.ppf((1 + level) / 2, size - 1) * d.std(axis=1, ddof=1) / np.sqrt(size)
    return around(d, np.where(np.ptp(d, axis=1) < 1e-12, half(floored_interval(d, level)), halves))


def around(d: np.ndarray, halves: np.ndarray) -> Ends:
    """The ends of intervals about the gaps."""
    return d.mean(axis=1) - halves, d.mean(axis=1) + halves


def half(ends: Ends) -> np.ndarray:
    """Half the width of each interval."""
    return (ends[1] - ends[0]) / 2


def floored_interval(d: np.ndarray, level: float = 0.95) -> Ends:
    """Two pseudo-tasks at ±1/2 in the variance."""
    size = d.shape[1]
    squares = ((d - d.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) + 0.5
    return around(
        d, student.ppf((1 + level) / 2, size + 1) * np.sqrt(squares / ((size + 1) * (size + 2)))
    )


def fixed_half(found: Studies, level: float = 0.95) -> np.ndarray:
    """F: the half-width on these tasks."""
    m = found.trials
    variance = sum(
        (c * (m - c) / m**2 / (m - 1)).sum(axis=1) for c in (found.baseline, found.challenger)
    )
    return norm.ppf((1 + level) / 2) * np.sqrt(variance) / found.baseline.shape[1]


def wald(found: Studies) -> Ends:
    """All runs of a shell as independent."""
    runs = found.trials * found.baseline.shape[1]
    below, above = (c.sum(axis=1) / runs for c in (found.baseline, found.challenger))
    half = norm.ppf(0.975) * np.sqrt((below * (1 - below) + above * (1 - above)) / runs)
    return above - below - half, above - below + half


def bootstraps(d: np.ndarray, rng: np.random.Generator, resamples: int = 1000) -> tuple[Ends, Ends]:
    """Percentile and BCa over tasks."""
    means = np.sort(resampled(d, rng, resamples), axis=1)
    size, centre = d.shape[1], d.mean(axis=1)
    below, up_to = (means < centre[:, None] - 1e-12), (means <= centre[:, None] + 1e-12)
    bias = norm.ppf(np.clip((below + up_to.astype(float)).mean(axis=1) / 2, 1e-4, 1 - 1e-4))
    left_out = (d.sum(axis=1, keepdims=True) - d) / (size - 1)
    away = left_out.mean(axis=1, keepdims=True) - left_out
    skew = (away**3).sum(axis=1) / np.maximum(6 * (away**2).sum(axis=1) ** 1.5, 1e-12)
    ends = []
    for z in norm.ppf([0.025, 0.975]):
        at = norm.cdf(bias + (bias + z) / (1 - skew * (bias + z)))
        place = np.clip((at * resamples).astype(int), 0, resamples - 1)
        ends.append(np.take_along_axis(means, place[:, None], axis=1)[:, 0])
    low, high = (means[:, int(at * resamples)] for at in (0.025, 0.975))
    return (low, high), (ends[0], ends[1])


def resampled(d: np.ndarray, rng: np.random.Generator, resamples: int = 1000) -> np.ndarray:
    """Gaps of task resamples, (studies, resamples); the same tasks are drawn in every study."""
    size = d.shape[1]
    weights = rng.multinomial(size, np.full(size, 1 / size), size=resamples)
    return d @ weights.T / size


def covered(ends: Ends, truth: float | np.ndarray) -> float:
    """The share of intervals that hold the truth."""
    return float(np.mean((ends[0] <= truth) & (truth <= ends[1])))


def flip_p(found: Studies) -> np.ndarray:
    """The report's sign-flip p of each study."""
    return np.array([float(sign_flip(row).value) for row in found.steps.tolist()])


def full_p(found: Studies) -> np.ndarray:
    """The sign-flip p in which a tie counts in full, as in version 2 of the analysis plan: by adding up its sums."""
    found_p = []
    for row in found.steps.tolist():
        sums = np.ones(1)
        for size in filter(None, map(abs, row)):
            moved = np.zeros(len(sums) + 2 * size)
            moved[: len(sums)] += sums / 2
            moved[2 * size :] += sums / 2
            sums = moved
        beyond = np.abs(np.arange(len(sums)) - len(sums) // 2) >= abs(sum(row))
        found_p.append(float(sums[beyond].sum()))
    return np.array(found_p)


def mcnemar_p(found: Studies, rng: np.random.Generator) -> np.ndarray:
    """Exact McNemar over runs, the j-th trial of one shell against the j-th of the other."""
    both = rng.hypergeometric(found.baseline, found.trials - found.baseline, found.challenger)
    one, other = (found.baseline - both).sum(axis=1), (found.challenger - both).sum(axis=1)
    return np.minimum(1, 2 * binom.cdf(np.minimum(one, other), one + other, 0.5))


def stratified_p(found: Studies) -> np.ndarray:
    """Mantel-Haenszel over runs, stratified by task."""
    m, both = found.trials, found.baseline + found.challenger
    variance = (both * (2 * m - both) / (4 * (2 * m - 1))).sum(axis=1)
    score = np.abs((found.challenger - both / 2).sum(axis=1)) / np.sqrt(np.maximum(variance, 1e-12))
    return 2 * norm.sf(score)


def rows_of(total: np.ndarray, size: int) -> np.ndarray:
    """The table's row of a gap of `total` passes in `size` runs a shell, as its place in BANDS; exact."""
    by_ten, by_five = 10 * total, 20 * total
    return np.select(
        [by_ten >= size, by_ten <= -size, np.abs(by_five) < size],
        [BANDS.index("challenger"), BANDS.index("baseline"), BANDS.index("falsified")],
        BANDS.index("inconclusive"),
    )


def survives(found: Studies) -> np.ndarray:
    """Whether the row is the same with each task left out."""
    total, tasks = found.steps.sum(axis=1), found.steps.shape[1]
    without = rows_of(total[:, None] - found.steps, (tasks - 1) * found.trials)
    return (without == rows_of(total, tasks * found.trials)[:, None]).all(axis=1)


def ahead(found: Studies, p: Callable[[Studies], np.ndarray] = flip_p) -> np.ndarray:
    """Who the report says is ahead: 1 the challenger, -1 the baseline, 0 neither."""
    low, high = report_interval(found, near_edge=False)
    side = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    asked = np.flatnonzero(side)
    side[asked] *= (
        p(replace(found, baseline=found.baseline[asked], challenger=found.challenger[asked]))
        <= 0.05 + 1e-12
    )
    return side
