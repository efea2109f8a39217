"""What gap a design can detect, and how large a study must be.

Without results the spread of the per-task differences is that of made-up populations of tasks. A
task has a true pass rate in each contrasted shell. The rates follow Beta distributions of mean mu
and mu + gap and precision k, tied by a Gaussian copula; or a quarter of the tasks are traps for one
shell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from math import isfinite, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, nctdtr, nctdtrinc, ndtr, stdtrit

from fluency.analysis import decision_table as plan
from fluency.analysis.outcomes import count_outcomes
from fluency.common.paths import RESULTS
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks

TRAP_SHARE, TRAP_LOW, TRAP_HIGH = 0.25, 0.10, 0.95
Spread = Callable[[float], float]
"""True gap -> standard deviation of the per-task differences, both in shares of one."""


@dataclass(frozen=True)
class Scenario:
    """A population.

    Attributes:
        mean: The baseline's mean rate.
        precision: The Beta distribution's a + b.
        tie: The copula's correlation.
        traps: Whether a quarter of the tasks are traps.
    """

    words: str
    mean: float
    precision: float
    tie: float
    traps: bool = False

    @property
    def largest_gap(self) -> float:
        """The largest true gap the scenario can hold."""
        return TRAP_SHARE * (TRAP_HIGH - TRAP_LOW) if self.traps else 0.95 - self.mean

    def spread(self, trials: int) -> Spread:
        """Its spread by gap, looked up on a grid of 2.5 points."""

        def at(gap: float) -> float:
            between, within = _moments(self, round(gap / 0.025) * 0.025)
            return sqrt(between + within / trials)

        return at


SCENARIOS = {
    "A": Scenario("most tasks easy or hard, shells much alike", 0.55, 0.4, 0.9),
    "A2": Scenario("difficulties milder, shells much alike", 0.55, 1.0, 0.9),
    "B": Scenario(
        "most tasks easy or hard, and the shells matter differently from task to task",
        0.55,
        0.4,
        0.6,
    ),
    "C": Scenario(
        "a quarter of the tasks are traps for one of the shells", 0.55, 0.4, 1.0, traps=True
    ),
    "D": Scenario("most tasks easy, shells much alike", 0.78, 0.4, 0.9),
}


def draw_rates(
    scenario: Scenario, gap: float, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """True pass rates of `size` tasks in baseline and challenger, shape (size,) each."""

    def beta(normal: np.ndarray, mean: float) -> np.ndarray:
        precision = scenario.precision
        rates: np.ndarray = betaincinv(mean * precision, (1 - mean) * precision, ndtr(normal))
        return rates

    first = rng.standard_normal(size)
    baseline = beta(first, scenario.mean)
    if scenario.traps:
        trap = rng.random(size) < TRAP_SHARE
        for_challenger = rng.random(size) < 0.5 + gap / (2 * scenario.largest_gap)
        trapped = np.where(for_challenger, TRAP_LOW, TRAP_HIGH)
        other = TRAP_LOW + TRAP_HIGH - trapped
        return np.where(trap, trapped, baseline), np.where(trap, other, baseline)
    second = scenario.tie * first + np.sqrt(1 - scenario.tie**2) * rng.standard_normal(size)
    return baseline, beta(second, scenario.mean + gap)


@cache
def _moments(scenario: Scenario, gap: float) -> tuple[float, float]:
    """Variance of the true difference between tasks, and mean variance of a trial in both."""
    baseline, challenger = draw_rates(
        scenario, min(gap, scenario.largest_gap), 20_000, np.random.default_rng(1)
    )
    within = baseline * (1 - baseline) + challenger * (1 - challenger)
    return float(np.var(challenger - baseline)), float(np.mean(within))


def critical(tasks: int) -> float:
    """The quantile of t that the interval takes."""
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2))


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


def sample_sizes(spread: Spread) -> SampleSizes | None:
    """The sizes; None if there is no spread, which is not certainty."""
    if not (spread(0.10) and spread(0)):
        return None
    direction, noise = float(plan.DIRECTION) / spread(0.10), float(plan.NOISE) / spread(0)
    return SampleSizes(
        next(size for size in count(2) if finds(direction, size) >= plan.POWER),
        next(size for size in count(2) if excludes(noise, size) >= plan.POWER),
    )


def finds(effect: float, size: int) -> float:
    """How often the interval excludes 0; `effect` is the true gap in standard deviations."""
    return float(1 - nctdtr(size - 1, effect * sqrt(size), critical(size)))


def excludes(margin: float, size: int) -> float:
    """How often the interval lies within ± `margin` standard deviations, at a true gap of 0."""
    return max(0.0, 2 * float(ndtr(margin * sqrt(size) - critical(size))) - 1)


def outlook(rate: float, tasks: int, trials: int) -> tuple[float, float]:
    """Of studies whose shells pass at one rate: the share that cannot tell, and the gap found.

    By scenario D with another mean; a ceiling is computed as the floor that it mirrors.
    """
    scenario = replace(SCENARIOS["D"], mean=min(rate, 1 - rate))
    rng = np.random.default_rng(plan.SEED)
    rates = np.array(draw_rates(scenario, 0.0, 20_000, rng))
    rates = rates[:, rng.integers(0, 20_000, size=(4000, tasks))]
    passes = rng.binomial(trials, rates).sum(axis=2)
    cannot_tell = float((passes.max(axis=0) <= plan.FLOOR * tasks * trials).mean())
    return cannot_tell, detectable(scenario.spread(trials), tasks)


def outlook_lines(study: Study, tasks: int) -> list[str]:
    """What a study of this number of tasks can find; nothing if it compares no shells."""
    rate = study.assume
    if not set(gap_shells(study.shells)) <= set(study.shells):
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    cannot_tell, gap = outlook(rate, tasks, study.trials)
    at, space = f"{100 * rate:g} %", min(rate, 1 - rate)
    side, hard = ("below", "hard") if rate < 0.5 else ("above", "easy")
    return [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * cannot_tell:.0f} % "
        f"of studies end with tasks too {hard} to tell by how much the "
        f"shells differ. A gap of {100 * gap:.0f} points is found {100 * plan.POWER:.0f} % "
        f"of the time; {side} {at} a gap of up to {100 * space:.0f} fits.",
    ]


HEADS = [
    "",
    "half-width",
    "gap found",
    "tasks: who is ahead (gap 10)",
    "tasks: less than 5 (gap 0)",
]


def power_text(spreads: Mapping[str, float], tasks: int, trials: int) -> str:
    """The table for models with their spreads; without any, for the scenarios of docs/method.md."""
    lines = [f"This design: {tasks} tasks x {trials} trials, one model."]
    sources = {f"results of {name}": _constant(spread) for name, spread in spreads.items()}
    if not sources:
        sources = scenario_spreads(trials)
        lines.append("No results of both shells yet: scenarios are assumed.")
        lines += [f"  {name}: {found.words}" for name, found in SCENARIOS.items()]
    rows = [HEADS, *size_rows(sources, tasks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "",
        "With this design, in points: the half-width of the interval at a true gap of 0, and the",
        "gap found 80 % of the time. Then the tasks that answer a question 80 % of the time.",
        *(
            "  ".join([head.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
            for head, *rest in rows
        ),
        "",
        "The spread of one study is uncertain: with 20 tasks by a third. n/a: none was seen.",
    ]
    return "\n".join(lines)


def _constant(spread: float) -> Spread:
    return lambda gap: spread


def scenario_spreads(trials: int) -> dict[str, Spread]:
    """Each scenario's, by its title."""
    return {f"scenario {name}": found.spread(trials) for name, found in SCENARIOS.items()}


def size_rows(sources: Mapping[str, Spread], tasks: int) -> list[list[str]]:
    """A row for each source: what the tasks find, and how many answer each question."""
    rows = []
    for title, spread in sources.items():
        half_width = critical(tasks) * spread(0.0) / sqrt(tasks)
        gaps = (half_width, detectable(spread, tasks))
        shown = [f"{100 * gap:.1f}" if gap and isfinite(gap) else "n/a" for gap in gaps]
        sizes = sample_sizes(spread)
        needed = [sizes.ahead, sizes.no_difference] if sizes else ["n/a", "n/a"]
        rows.append([title, *shown, *map(str, needed)])
    return rows


def main(study: Study, results: Path = RESULTS) -> int:
    """Print the table for a study: from its own results, else from the scenarios."""
    ids, spreads = [task.id for task in load_tasks(study.tasks)], {}
    path = Path(results) / study.study / "cells.csv"
    for alias, rows in read_table(path).groupby("model", sort=False) if path.exists() else ():
        paired = count_outcomes(rows, ids, study.trials, gap_shells(study.shells)).paired()
        if paired and len(paired.tasks) > 1:
            spreads[str(alias)] = paired.sd
    print(power_text(spreads, len(ids), study.trials))
    return 0
