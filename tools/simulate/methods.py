"""What is done with simulated studies: the report's own interval on arrays, and others' methods."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, norm
from scipy.stats import t as student

from fluency.analysis.decision_table import BANDS, CEILING, FLOOR
from tools.simulate.studies import Studies

Ends = tuple[np.ndarray, np.ndarray]


def differences(found: Studies) -> np.ndarray:
    """Per task, of one."""
    return found.steps / found.trials


def pass_rates(found: Studies) -> np.ndarray:
    """Pass@1 of baseline and challenger, (2, studies)."""
    runs = found.trials * found.steps.shape[1]
    return np.array([found.baseline.sum(axis=1), found.challenger.sum(axis=1)]) / runs


def report_interval(found: Studies) -> Ends:
    """The report's interval, rounded as it is printed."""
    return interval_of(differences(found), pass_rates(found))


def interval_of(d: np.ndarray, rates: np.ndarray) -> Ends:
    """The report's interval of differences, (studies, tasks), and rates of both, (2, studies)."""
    size, centre = d.shape[1], d.mean(axis=1)
    halves = student.ppf(0.975, size - 1) * d.std(axis=1, ddof=1) / np.sqrt(size)
    squares = ((d - centre[:, None]) ** 2).sum(axis=1) + 0.5
    floored = student.ppf(0.975, size + 1) * np.sqrt(squares / ((size + 1) * (size + 2)))
    near = ((rates <= float(FLOOR)) | (rates >= float(CEILING))).any(axis=0)
    widened = near | (np.ptp(d, axis=1) < 1e-12)
    halves = np.where(widened, np.maximum(halves, floored), halves)
    low, high = np.maximum(-1, centre - halves), np.minimum(1, centre + halves)
    return np.round(low, 3), np.round(high, 3)


def ahead(found: Studies) -> np.ndarray:
    """Who the report says is ahead: 1 the challenger, -1 the baseline, 0 neither."""
    return side_of(report_interval(found))


def side_of(ends: Ends) -> np.ndarray:
    """The sign of the intervals that exclude 0; 0 of the others."""
    low, high = ends
    return np.where(low > 0, 1, np.where(high < 0, -1, 0))


def at_an_edge(found: Studies) -> np.ndarray:
    """Where both shells pass nearly all runs, or almost none."""
    rates = pass_rates(found)
    return (rates.max(axis=0) <= float(FLOOR)) | (rates.min(axis=0) >= float(CEILING))


def bootstrap(d: np.ndarray, rng: np.random.Generator, resamples: int = 1000) -> Ends:
    """The percentile interval over tasks; the same tasks are drawn in every study."""
    size = d.shape[1]
    weights = rng.multinomial(size, np.full(size, 1 / size), size=resamples)
    means = np.sort(d @ weights.T / size, axis=1)
    return means[:, int(0.025 * resamples)], means[:, int(0.975 * resamples)]


def wald(found: Studies) -> Ends:
    """All runs of a shell as independent."""
    below, above = pass_rates(found)
    runs = found.trials * found.steps.shape[1]
    half = norm.ppf(0.975) * np.sqrt((below * (1 - below) + above * (1 - above)) / runs)
    return above - below - half, above - below + half


def mcnemar_p(found: Studies, rng: np.random.Generator) -> np.ndarray:
    """Exact McNemar over runs, the j-th trial of one shell against the j-th of the other."""
    both = rng.hypergeometric(found.baseline, found.trials - found.baseline, found.challenger)
    one, other = (found.baseline - both).sum(axis=1), (found.challenger - both).sum(axis=1)
    return sign_p(one, other)


def sign_p(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The exact sign test of tasks that one or the other shell alone has."""
    return np.minimum(1, 2 * binom.cdf(np.minimum(one, other), one + other, 0.5))


def log_ratio(costs: Studies, passes: Studies) -> Ends:
    """The ends of the logarithm of the ratio of costs per passed run."""
    parts = [
        cost / cost.mean(axis=1, keepdims=True) - own / own.mean(axis=1, keepdims=True)
        for cost, own in (
            (costs.challenger, passes.challenger),
            (costs.baseline, passes.baseline),
        )
    ]
    size = passes.baseline.shape[1]
    error = (parts[0] - parts[1]).std(axis=1, ddof=1) / np.sqrt(size)
    half = student.ppf(0.975, size - 1) * error
    each = [
        np.log(cost.sum(axis=1) / own.sum(axis=1))
        for cost, own in (
            (costs.challenger, passes.challenger),
            (costs.baseline, passes.baseline),
        )
    ]
    return each[0] - each[1] - half, each[0] - each[1] + half


def covered(ends: Ends, truth: float | np.ndarray) -> float:
    """The share of intervals that hold the truth."""
    return float(np.mean((ends[0] <= truth) & (truth <= ends[1])))


def rows_of(total: np.ndarray, size: int) -> np.ndarray:
    """The table's row of a gap of `total` passes in `size` runs a shell, as its place in BANDS."""
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
