"""The figures: each function is one table of simulated studies, a list of rows of plain numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm

from fluency.analysis.plan import BANDS, CEILING, FLOOR
from fluency.analysis.scenarios import SCENARIOS
from tools.simulate import methods
from tools.simulate.studies import Studies, by_category, passing, population, shifted, studies

Row = dict[str, Any]
GAPS = (0.0, 0.05, 0.10, 0.15, 0.20)


def rng_for(*words: object) -> np.random.Generator:
    """Random numbers of one cell of a table, independent of all others."""
    return np.random.default_rng(zlib.crc32(repr(words).encode()))


def design(count: int) -> list[Row]:
    """20 tasks x 5 trials by scenario and true gap: rows of the table, claims, coverage, widths, leaving tasks out."""
    return [
        design_row(name, gap, count)
        for name in SCENARIOS
        for gap in GAPS
        if gap <= SCENARIOS[name].largest_gap
    ]


def design_row(name: str, gap: float, count: int) -> Row:
    """One cell of the design's table."""
    found = studies(population(name, gap), count, 20, 5, rng_for("design", name, gap))
    d = methods.differences(found)
    row = methods.rows_of(found.steps.sum(axis=1), 100)
    ends, near, fixed = (
        methods.report_interval(found),
        methods.report_interval(found, 0.90),
        methods.fixed_half(found),
    )
    plain, floored = methods.t_interval(d), methods.floored_interval(d)
    side, p = methods.ahead(found), methods.flip_p(found)
    own = d.mean(axis=1)
    noise = row == BANDS.index("falsified")
    return {
        "scenario": name,
        "gap": gap,
        **{band: share(row == place) for place, band in enumerate(BANDS)},
        "resolved direction": share((side == 1) & (row == 0) | (side == -1) & (row == 3)),
        "resolved false direction": share(
            (side == -1) & (row == 3) | (side == 1) & (row == 0) & (gap == 0)
        ),
        "resolved noise": share(noise & (near[0] > -0.05) & (near[1] < 0.05)),
        "S covers": methods.covered(ends, found.truth),
        "t covers": methods.covered(plain, found.truth),
        "floored covers": methods.covered(floored, found.truth),
        "runs independent cover": methods.covered(methods.wald(found), found.truth),
        "F covers": methods.covered((own - fixed, own + fixed), found.fixed),
        "sign-flip rejects": share(p <= 0.05),
        "full p rejects": share(methods.full_p(found) <= 0.05),
        "t rejects": share((plain[0] > 0) | (plain[1] < 0)),
        "McNemar rejects": share(methods.mcnemar_p(found, rng_for("pairs", name, gap)) <= 0.05),
        "stratified rejects": share(methods.stratified_p(found) <= 0.05),
        "half-width S": median(methods.half(ends)),
        "half-width t": median(methods.half(plain)),
        "half-width floored": median(methods.half(floored)),
        "half-width F": median(fixed),
        "survives": share(methods.survives(found)),
    }


def resampling(count: int) -> list[Row]:
    """Coverage of the bootstraps over tasks."""
    rows = []
    for name in SCENARIOS:
        for gap in (0.0, 0.10):
            found = studies(population(name, gap), count, 20, 5, rng_for("resampling", name, gap))
            percentile, corrected = methods.bootstraps(
                methods.differences(found), rng_for("weights", name, gap)
            )
            covers = {"percentile": percentile, "BCa": corrected}
            rows.append(
                {"scenario": name, "gap": gap}
                | {k: methods.covered(v, found.truth) for k, v in covers.items()}
            )
    return rows


def sizes(count: int) -> list[Row]:
    """Tasks of 5 trials at which each question is answered in 80 % of studies."""
    rows = []
    for name, scenario in SCENARIOS.items():
        for question, gap, margin, answered in QUESTIONS:
            if gap > scenario.largest_gap:
                rows.append({"scenario": name, "question": question, "gap": gap, "tasks": None})
                continue
            rates = population(name, gap)
            spread = sqrt(
                np.var(rates[1] - rates[0]) + np.mean(sum(r * (1 - r) for r in rates)) / 5
            )
            # About the size that the normal approximation gives; the answer is read off between its neighbours.
            quantiles = 1.96 + 0.84 if question != NO_DIFFERENCE else 1.645 + 1.2816
            about = (quantiles * spread / margin) ** 2
            tried = [max(8, round(about * factor)) for factor in (0.8, 0.95, 1.1, 1.3)]
            shares = []
            for tasks in tried:
                found = studies(rates, count, tasks, 5, rng_for("sizes", name, question, tasks))
                shares.append(share(answered(found)))
            rows.append(
                {"scenario": name, "question": question, "gap": gap, "tasks": at_80(tried, shares)}
            )
    return rows


def at_80(tried: list[int], shares: list[float]) -> int:
    """The number of tasks at 80 %, along the line through the probits against the root of the tasks."""
    slope, start = np.polyfit(np.sqrt(tried), norm.ppf(np.clip(shares, 0.001, 0.999)), 1)
    return round(((norm.ppf(0.80) - start) / slope) ** 2)


def says_ahead(found: Studies) -> np.ndarray:
    """Whether the report says rightly who is ahead."""
    return methods.ahead(found) == 1


def says_ten(found: Studies) -> np.ndarray:
    """Whether it says rightly that the gap is 10 points or more."""
    low, _ = methods.report_interval(found)
    return says_ahead(found) & (low >= 0.10)


def says_noise(found: Studies) -> np.ndarray:
    """Whether it says that the gap is less than 5 points either way."""
    low, high = methods.report_interval(found, 0.90)
    return (low > -0.05) & (high < 0.05)


AHEAD, BY_TEN, NO_DIFFERENCE = (
    "who is ahead",
    "ahead by 10 points or more",
    "no difference: within 5 points",
)
QUESTIONS: tuple[tuple[str, float, float, Callable[[Studies], np.ndarray]], ...] = (
    (AHEAD, 0.10, 0.10, says_ahead),
    (BY_TEN, 0.20, 0.10, says_ten),
    (NO_DIFFERENCE, 0.0, 0.05, says_noise),
)


def weak_places(count: int) -> list[Row]:
    """Coverage where the t interval for tasks like these is at its worst."""
    designs = [
        (20, mean, gap)
        for mean in (0.05, 0.10, 0.90, 0.95)
        for gap in (-0.10, -0.05, 0.0, 0.05, 0.10)
    ]
    designs += [
        (tasks, mean, gap)
        for tasks in (60, 100)
        for mean in (0.90, 0.95, 0.97)
        for gap in (-0.10, -0.05, 0.0, 0.02)
    ]
    rows = []
    for tasks, mean, gap in designs:
        if 0.01 <= mean + gap <= 0.99:
            rng = rng_for("weak", tasks, mean, gap)
            rows.append(
                _coverage(mean, gap, studies(population("D", gap, mean), count, tasks, 5, rng))
            )
    return rows


def shared_effects(count: int) -> list[Row]:
    """Coverage at a true gap of 0 where the tasks of a category share an effect, up to `spread` either way."""
    spreads = (0.05, 0.10, 0.15)
    return [
        {"spread": s} | _coverage(0.5, 0.0, by_category(s, count, rng_for("category", s)))
        for s in spreads
    ]


def _coverage(mean: float, gap: float, found: Studies) -> Row:
    d, side = methods.differences(found), methods.ahead(found)
    plain, report = methods.t_interval(d), methods.report_interval(found)
    return {
        "tasks": d.shape[1],
        "baseline": mean,
        "gap": gap,
        "t covers": methods.covered(plain, found.truth),
        "S covers": methods.covered(report, found.truth),
        "half-width t": median(methods.half(plain)),
        "half-width S": median(methods.half(report)),
        "wrongly ahead": share(side * np.sign(gap) < 0 if gap else side != 0),
        "rightly ahead": share(side * np.sign(gap) > 0),
        "cannot tell": share(at_an_edge(found)),
    }


def said_ahead(count: int) -> list[Row]:
    """How often a shell is said to be ahead, by the mid-p and by the full one: wrongly at a true gap of 0."""
    cases = [
        (words, tasks, 0.0, rates)
        for name in SCENARIOS
        for words, rates in (
            (name, population(name, 0.0)),
            (f"{name}, no task differs", (population(name, 0.0)[0],) * 2),
        )
        for tasks in (20, 60)
    ]
    for mean in (0.90, 0.95):
        cases += [
            (f"D, Bash passes {mean:.0%}", tasks, 0.0, population("D", 0.0, mean))
            for tasks in (20, 60)
        ]
    for tasks, below, above in ((20, 0.85, 0.95), (60, 0.90, 0.95)):
        words = f"Bash passes {below:.0%}, PowerShell {above:.0%}"
        cases.append((words, tasks, round(above - below, 2), passing(below, above)))
    rows = []
    for words, tasks, gap, rates in cases:
        found = studies(rates, count, tasks, 5, rng_for("ahead", words, tasks))
        sides = {"mid-p": methods.ahead(found), "full p": methods.ahead(found, methods.full_p)}
        said = {
            name: share(side * np.sign(gap) > 0 if gap else side != 0)
            for name, side in sides.items()
        }
        rows.append({"place": words, "tasks": tasks, "gap": gap} | said)
    return rows


def at_an_edge(found: Studies) -> np.ndarray:
    """Where both shells pass nearly all runs, or both hardly any."""
    runs = found.trials * found.steps.shape[1]
    passed = [c.sum(axis=1) for c in (found.baseline, found.challenger)]
    return (np.maximum(*passed) <= runs * FLOOR) | (np.minimum(*passed) >= runs * CEILING)


def no_room(count: int) -> list[Row]:
    """Models of rising ability, whose log odds a shell moves alike: what the table reads, and whether there is room."""
    rows = []
    for effect in (0.0, 1.0):
        for logit in (-8.0, -6.5, -5.0, -3.5, -2.0, 0.0, 2.0, 3.5, 5.0, 6.5, 8.0):
            rates = shifted(logit, effect, rng_for("ability", effect, logit))
            found = studies(rates, count, 20, 5, rng_for("no room", effect, logit))
            row = methods.rows_of(found.steps.sum(axis=1), 100)
            rows.append(
                {
                    "effect": effect,
                    "baseline": float(np.mean(rates[0])),
                    "gap": found.truth,
                    "reads noise": share(row == BANDS.index("falsified")),
                    "reads a direction": share((row == 0) | (row == 3)),
                    "cannot tell": share(at_an_edge(found)),
                    "ahead": share(methods.ahead(found) != 0),
                }
            )
    return rows


def optional_stopping(count: int) -> list[Row]:
    """A true gap of 0, looked at after 5, 10, 15 and 20 trials: how often p is at most 0.05."""
    rows = []
    for name in SCENARIOS:
        for words, alike in (("the scenario's", False), ("no task differs", True)):
            rates = population(name, 0.0)
            rates = (rates[0], rates[0]) if alike else rates
            rng = rng_for("stopping", name, alike)
            chosen = rng.integers(0, len(rates[0]), size=(count, 20))
            steps, looks = np.zeros((count, 20), dtype=np.int64), []
            for look in range(1, 5):
                steps = (
                    steps + rng.binomial(5, rates[1][chosen]) - rng.binomial(5, rates[0][chosen])
                )
                seen = Studies(np.zeros_like(steps), steps, 5 * look, 0.0, np.zeros(count))
                looks.append(methods.flip_p(seen) <= 0.05)
            rows.append(
                {
                    "scenario": name,
                    "tasks": words,
                    "first": share(looks[0]),
                    "last": share(looks[-1]),
                    "any": share(np.any(looks, axis=0)),
                }
            )
    return rows


def shares_of_resamples(count: int) -> list[Row]:
    """True gaps normal about 0 with sd 8 points: how often the truth was in the row that a share of resamples named."""
    rows = []
    for name in ("A", "C"):
        rng = rng_for("gaps", name)
        gaps = np.clip(np.round(rng.normal(0, 8, count)), -20, 20) / 100
        claimed: dict[str, list[bool]] = {"0.6 to 0.8": [], "0.8 to 0.9": [], "0.9 to 1": []}
        for gap in sorted(set(gaps.tolist())):
            found = studies(
                population(name, gap), int((gaps == gap).sum()), 20, 5, rng_for("shares", name, gap)
            )
            drawn = np.round(
                methods.resampled(methods.differences(found), rng_for("weights", name, gap)) * 100
            ).astype(int)
            truth = methods.rows_of(np.array([round(100 * gap)]), 100)[0]
            rows_drawn = methods.rows_of(drawn, 100)
            for place in range(len(BANDS)):
                for part in (rows_drawn == place).mean(axis=1):
                    words = (
                        "0.9 to 1"
                        if part >= 0.9
                        else "0.8 to 0.9"
                        if part >= 0.8
                        else "0.6 to 0.8"
                        if part >= 0.6
                        else ""
                    )
                    if words:
                        claimed[words].append(bool(truth == place))
        rows += [
            {"scenario": name, "share": k, "studies": len(v), "right": share(np.array(v))}
            for k, v in claimed.items()
        ]
    return rows


def share(marks: np.ndarray) -> float:
    """Of marks that are set, to a tenth of a per cent; nan of none."""
    return round(float(np.mean(marks)), 3) if len(marks) else float("nan")


def median(values: np.ndarray) -> float:
    """To a tenth of a point."""
    return round(float(np.median(values)), 3)


TABLES: dict[str, tuple[Callable[[int], list[Row]], int]] = {
    "design": (design, 4000),
    "resampling": (resampling, 2000),
    "sizes": (sizes, 2000),
    "weak_places": (weak_places, 4000),
    "shared_effects": (shared_effects, 4000),
    "said_ahead": (said_ahead, 10_000),
    "no_room": (no_room, 2000),
    "optional_stopping": (optional_stopping, 4000),
    "shares_of_resamples": (shares_of_resamples, 4000),
}
"""Each table, and the studies of one of its cells."""
