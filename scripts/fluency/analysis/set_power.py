"""What each named set of tasks can resolve, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

from scipy.stats import t as student

from fluency.analysis.analysis_plan import ALPHA
from fluency.analysis.detectable import Variance, detectable_like, detectable_these


def half_width(variance: Variance, tasks: int, trials: int) -> float:
    """Half-width (of one) of the 95 % interval for tasks like these at a true gap of 0, by the variances."""
    between, within = variance(0.0)
    return float(student.ppf(1 - ALPHA / 2, tasks - 1)) * sqrt((between + within / trials) / tasks)


MEASURES: Mapping[str, Callable[[Variance, int, int], float]] = {
    "half-width": half_width,
    "gap, tasks like these": detectable_like,
    "gap, these tasks": detectable_these,
}
"""The columns: half-width of the 95 % interval for tasks like these, and the smallest true gaps that are found."""


def set_rows(sources: Sequence[tuple[str, Variance]], sets: Mapping[str, int], trials: int) -> list[list[str]]:
    """A row for each source and set: both names, tasks, and each measure in points; `n/a` where nothing varies."""
    return [
        [title, name, str(tasks), *(_points(measure(variance, tasks, trials)) for measure in MEASURES.values())]
        for title, variance in sources
        for name, tasks in sets.items()
        if tasks > 1
    ]


def sets_table(sources: Sequence[tuple[str, Variance]], sets: Mapping[str, int], trials: int) -> str:
    """The rows in plain text."""
    rows = [["source", "set", "tasks", *MEASURES], *set_rows(sources, sets, trials)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _points(gap: float) -> str:
    return f"{100 * gap:.1f}" if gap else "n/a"
