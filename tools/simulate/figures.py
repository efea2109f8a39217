"""The figures: each function is one table of simulated studies, a list of rows of plain numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fluency.analysis.decision_table import BANDS
from tools.simulate import methods
from tools.simulate.scenarios import SCENARIOS
from tools.simulate.studies import Studies, passing, population, studies

Row = dict[str, Any]
SIZES = (20, 60, 68, 170)
"""Of the bank's sets."""
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


def levels(count: int) -> list[Row]:
    """How often each further claim is made where it is wrong, and where it is right."""
    return [levels_row(tasks, count) for tasks in SIZES]


def levels_row(tasks: int, count: int) -> Row:
    """One size of that table."""

    def drawn(below: float, above: float, spread: float = 1.0) -> Studies:
        rng = rng_for("levels", tasks, below, above)
        return studies(passing(below, above, spread), count, tasks, 5, rng)

    def within_five(found: Studies) -> float:
        low, high = methods.report_interval(found)
        edge = methods.at_an_edge(found)
        return share(edge & (low > -0.05) & (high < 0.05))

    lost, rng = drawn(0.6, 0.6), rng_for("lost", tasks)
    # Up to 8 % of PowerShell's runs are missing, all of which had failed.
    missing = rng.binomial(lost.trials - lost.challenger, 0.2)
    missing = np.minimum(missing, lost.trials // 2)
    left = lost.challenger / (lost.trials - missing)
    d, base = left - lost.baseline / lost.trials, lost.baseline.mean(axis=1) / lost.trials
    seen = methods.side_of(methods.interval_of(d, np.array([base, left.mean(axis=1)])))
    worst = [methods.ahead(replace(lost, challenger=lost.challenger + m)) for m in (0, missing)]
    quiet, more_quiet = drawn(0.15, 0.15), drawn(0.25, 0.10)
    tasks_with = (rng_for("unasked", tasks).random((2, count, tasks)) < 0.1).astype(int)
    only = [(a & (1 - b)).sum(axis=1) for a, b in (tasks_with, tasks_with[::-1])]
    passes, rng = drawn(0.4, 0.5), rng_for("costs", tasks)
    sizes = rng.lognormal(3, 0.5, (count, tasks, 1))
    below, above = (
        sizes[..., 0] * rng.gamma(5 * 4, factor / 4, (count, tasks)) for factor in (1.0, 1.5)
    )
    ratio = methods.log_ratio(Studies(below, above, 5, 0.0), passes)
    truth = np.log(1.5 / (0.5 / 0.4))
    return {
        "tasks": tasks,
        "less than 5 at a ceiling, true gap 5": within_five(drawn(0.92, 0.97)),
        "less than 5 at a ceiling, true gap 0": within_five(drawn(0.97, 0.97)),
        "ahead on what was measured": share(seen != 0),
        "ahead whatever the missing runs were": share(
            (seen != 0) & (worst[0] == seen) & (worst[1] == seen)
        ),
        "more quiet answers, true gap 0": share(methods.ahead(quiet) != 0),
        "more quiet answers, true gap -15": share(methods.ahead(more_quiet) == -1),
        "more unasked changes, no difference": share(methods.sign_p(*only) <= 0.05),
        "cost ratio covers": methods.covered(ratio, truth),
    }


def share(marks: np.ndarray) -> float:
    """Of marks that are set, to a tenth of a per cent."""
    return round(float(np.mean(marks)), 3)


TABLES: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "claims": (claims, 3000),
    "design": (design, 2000),
    "levels": (levels, 4000),
    "optional_stopping": (optional_stopping, 4000),
}
"""Each table, and the studies of one of its cells."""
