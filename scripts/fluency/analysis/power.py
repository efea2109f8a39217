"""What gap a design can detect, and how large a study must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from math import isfinite, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import nctdtr, nctdtrinc, ndtr, stdtrit

from fluency.analysis import decision_table as plan
from fluency.analysis.intervals import task_sd
from fluency.analysis.outcomes import count_outcomes, pair_by_task
from fluency.analysis.scenarios import SCENARIOS, Scenario, draw_rates, moments
from fluency.common.paths import RESULTS
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks

Spread = Callable[[float], float]
"""By the true gap: the standard deviation of the per-task differences, of one."""


def detectable(spread: Spread, tasks: int) -> float:
    """Smallest gap (of one) found 80 % of the time."""
    critical, gap = stdtrit(tasks - 1, 1 - plan.ALPHA / 2), 0.1
    shift = float(nctdtrinc(tasks - 1, 1 - plan.POWER, critical))
    for _ in range(20):
        gap = min(1.0, shift * spread(gap) / sqrt(tasks))
    return gap


def half_width(spread: Spread, tasks: int) -> float:
    """Half-width (of one) of the 95 % interval for tasks like these at a true gap of 0."""
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2)) * spread(0.0) / sqrt(tasks)


def scenario_spread(scenario: Scenario, trials: float) -> Spread:
    """A scenario's spread by gap, looked up on a grid of 2.5 points."""

    @cache
    def known(step: int) -> float:
        between, within = moments(scenario, step * 0.025)
        return sqrt(between + within / trials)

    return lambda gap: known(round(gap / 0.025))


@dataclass(frozen=True)
class SampleSizes:
    """Tasks of the same kind and number of trials that answer a question in 80 % of studies.

    Attributes:
        ahead: Who is ahead, at a true gap of 10 points; the same number shows 10 or more at 20.
        no_difference: That the gap is less than 5 points either way, at a true gap of 0.
    """

    ahead: int
    no_difference: int


def sample_sizes(spread: float) -> SampleSizes | None:
    """The sizes by the standard deviation of the per-task differences, of one.

    None if it is 0, which is not certainty.
    """
    if spread <= 0:
        return None
    direction, noise = float(plan.DIRECTION) / spread, float(plan.NOISE) / spread
    return SampleSizes(
        _smallest(lambda size: finds(direction, size)),
        _smallest(lambda size: excludes(noise, size)),
    )


def finds(effect: float, size: int) -> float:
    """How often the interval excludes 0; `effect` is the true gap in standard deviations."""
    return float(1 - nctdtr(size - 1, effect * sqrt(size), stdtrit(size - 1, 1 - plan.ALPHA / 2)))


def excludes(margin: float, size: int) -> float:
    """How often the interval lies within ± `margin` standard deviations, at a true gap of 0."""
    room = margin * sqrt(size) - stdtrit(size - 1, 1 - plan.ALPHA / 2)
    return max(0.0, 2 * float(ndtr(room)) - 1)


def _smallest(power: Callable[[int], float]) -> int:
    """The first size that has the power."""
    return next(size for size in count(2) if power(size) >= plan.POWER)


class Outlook(NamedTuple):
    """Studies whose shells pass at one rate: the share that cannot tell, and the gap found."""

    cannot_tell: float
    gap: float


def outlook(rate: float, tasks: int, trials: int, studies: int = 4000) -> Outlook:
    """By scenario D with another mean; a ceiling is computed as the floor that it mirrors."""
    scenario = replace(SCENARIOS["D"], mean=min(rate, 1 - rate))
    rng = np.random.default_rng(plan.SEED)
    rates = np.array(draw_rates(scenario, 0.0, 20_000, rng))
    rates = rates[:, rng.integers(0, 20_000, size=(studies, tasks))]
    passes = rng.binomial(trials, rates).sum(axis=2)
    cannot_tell = float((passes.max(axis=0) <= plan.FLOOR * tasks * trials).mean())
    return Outlook(cannot_tell, detectable(scenario_spread(scenario, trials), tasks))


def outlook_lines(study: Study, tasks: int) -> list[str]:
    """What a study of this number of tasks can find; nothing if it compares no shells."""
    rate = study.assume
    if not set(gap_shells(study.shells)) <= set(study.shells):
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    found, at = outlook(rate, tasks, study.trials), f"{100 * rate:g} %"
    side, space = ("below" if rate < 0.5 else "above"), min(rate, 1 - rate)
    return [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * found.cannot_tell:.0f} % "
        f"of studies end with tasks too {'hard' if rate < 0.5 else 'easy'} to tell by how much the "
        f"shells differ. A gap of {100 * found.gap:.0f} points is found {100 * plan.POWER:.0f} % "
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
    """The table in plain text.

    Args:
        spreads: Models with their spreads; without any, the scenarios of docs/method.md.
        tasks: The design's.
        trials: The design's.
    """
    lines = [f"This design: {tasks} tasks x {trials} trials, one model."]
    sources = {f"results of {name}": _constant(spread) for name, spread in spreads.items()}
    if not sources:
        sources = scenario_spreads(trials)
        lines.append("No results of both shells yet: scenarios are assumed.")
        lines += [f"  {s.name}: {s.words}" for s in SCENARIOS.values()]
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


def scenario_spreads(trials: float) -> dict[str, Spread]:
    """Each scenario's, by its title."""
    return {f"scenario {s.name}": scenario_spread(s, trials) for s in SCENARIOS.values()}


def _constant(spread: float) -> Spread:
    return lambda gap: spread


def size_rows(sources: Mapping[str, Spread], tasks: int) -> list[list[str]]:
    """A row for each source: what the tasks find, and how many answer each question."""
    rows = []
    for title, spread in sources.items():
        ahead, alike = sample_sizes(spread(float(plan.DIRECTION))), sample_sizes(spread(0.0))
        gaps = [half_width(spread, tasks), detectable(spread, tasks)]
        needed = [ahead and ahead.ahead, alike and alike.no_difference]
        shown = [f"{100 * gap:.1f}" if gap and isfinite(gap) else "n/a" for gap in gaps]
        rows.append([title, *shown, *(str(size or "n/a") for size in needed)])
    return rows


def main(study: Study, results: Path = RESULTS) -> int:
    """Print the table for a study: from its own results, else from the scenarios."""
    ids, spreads = [task.id for task in load_tasks(study.tasks)], {}
    path = Path(results) / study.study / "cells.csv"
    for alias, rows in read_table(path).groupby("model", sort=False) if path.exists() else ():
        paired = pair_by_task(count_outcomes(rows, ids, study.trials, study.shells))
        if paired and len(paired.tasks) > 1:
            spreads[str(alias)] = task_sd(paired.differences)
    print(power_text(spreads, len(ids), study.trials))
    return 0
