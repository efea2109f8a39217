"""The figures: each function is one table of simulated studies, a list of rows of plain numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fluency.analysis.decision_table import BANDS
from tools.simulate import methods
from tools.simulate.scenarios import SCENARIOS
from tools.simulate.studies import Studies, passing, population, studies

Row = dict[str, Any]
SIZES = (20, 56, 116)
CASES = ((0.5, 0.10), (0.7, 0.10), (0.9, -0.10), (0.7, 0.05), (0.9, 0.05), (0.7, 0.0), (0.9, 0.0))


def rng_for(*words: object) -> np.random.Generator:
    """Random numbers of one cell of a table, independent of all others."""
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def claims(count: int) -> list[Row]:
    """Who is ahead, found and wrongly, and coverage, by tasks, Bash's rate, gap and spread."""
    return [
        claims_row(tasks, below, gap, spread, count)
        for tasks in SIZES
        for below, gap in CASES
        for spread in (0.5, 1.5)
    ]


def claims_row(tasks: int, below: float, gap: float, spread: float, count: int) -> Row:
    """One cell of that table; a task's log odds move by the shell's effect with this spread."""
    rates = passing(below, below + gap, spread)
    found = studies(rates, count, tasks, 5, rng_for("claims", tasks, below, gap, spread))
    side, sign = methods.ahead(found), np.sign(gap)
    return {
        "tasks": tasks,
        "baseline": below,
        "gap": gap,
        "spread": spread,
        "ahead": share(side * sign > 0) if gap else None,
        "wrongly ahead": share(side * sign < 0 if gap else side != 0),
        "covers": methods.covered(methods.report_interval(found), found.truth),
        "too easy or hard": share(methods.at_an_edge(found)),
    }


def design(count: int) -> list[Row]:
    """By scenario, tasks and true gap: rows of the table, support, coverage, others' methods."""
    return [
        design_row(name, tasks, gap, count)
        for name in SCENARIOS
        for tasks in SIZES
        for gap in (0.0, 0.05, 0.10, 0.20)
        if gap <= SCENARIOS[name].largest_gap
    ]


def design_row(name: str, tasks: int, gap: float, count: int) -> Row:
    """One cell of that table."""
    found = studies(population(name, gap), count, tasks, 5, rng_for("design", name, tasks, gap))
    row = methods.rows_of(found.steps.sum(axis=1), 5 * tasks)
    low, high = ends = methods.report_interval(found)
    side, d = methods.ahead(found), methods.differences(found)
    by_ten = ((row == 0) & (low >= 0.10)) | ((row == 3) & (high <= -0.10))
    noise = (row == BANDS.index("falsified")) & (low > -0.05) & (high < 0.05)
    return {
        "scenario": name,
        "tasks": tasks,
        "gap": gap,
        **{band: share(row == place) for place, band in enumerate(BANDS)},
        "ahead": share(side == 1 if gap else side != 0),
        "direction supported": share(by_ten),
        "noise supported": share(noise),
        "covers": methods.covered(ends, found.truth),
        "half-width": round(float(np.median((high - low) / 2)), 3),
        "bootstrap covers": methods.covered(
            methods.bootstrap(d, rng_for("weights", name, tasks, gap)), found.truth
        ),
        "runs independent cover": methods.covered(methods.wald(found), found.truth),
        "McNemar rejects": share(
            methods.mcnemar_p(found, rng_for("pairs", name, tasks, gap)) <= 0.05
        ),
        "survives": share(methods.survives(found)),
    }


def optional_stopping(count: int) -> list[Row]:
    """A true gap of 0, looked at after 5, 10, 15 and 20 trials: how often a shell is ahead."""
    rows = []
    for name in SCENARIOS:
        below, above = population(name, 0.0)
        rng = rng_for("stopping", name)
        chosen = rng.integers(0, len(below), size=(count, 20))
        passes = [np.zeros((count, 20), dtype=np.int64) for _ in range(2)]
        looks = []
        for look in range(1, 5):
            for counts, rates in zip(passes, (below, above), strict=True):
                counts += rng.binomial(5, rates[chosen])
            seen = Studies(passes[0], passes[1], 5 * look, 0.0)
            looks.append(methods.ahead(seen) != 0)
        any_look = share(np.any(looks, axis=0))
        rows.append({"scenario": name, "first": share(looks[0]), "any": any_look})
    return rows


def share(marks: np.ndarray) -> float:
    """Of marks that are set, to a tenth of a per cent."""
    return round(float(np.mean(marks)), 3)


TABLES: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "claims": (claims, 3000),
    "design": (design, 2000),
    "optional_stopping": (optional_stopping, 4000),
}
"""Each table, and the studies of one of its cells."""
