"""What gap a design can detect, and how large a study must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtr, ndtr, ndtri, stdtrit

from fluency.analysis import decision_table as plan
from fluency.analysis.intervals import task_sd
from fluency.analysis.outcomes import Outcomes, count_outcomes, pair_by_task, trial_noise
from fluency.analysis.scenarios import SCENARIOS, Scenario, draw_rates, moments
from fluency.common.paths import RESULTS
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks, task_sets

Variance = Callable[[float], tuple[float, float]]
"""By the true gap: between tasks, and of one trial in both shells."""


@cache
def noncentrality(tasks: int) -> float:
    """The t statistic's shift that a two-sided test at 5 % over the tasks finds 80 % of the time."""
    low, high = 0.5, 30.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if finds(middle / sqrt(tasks), tasks) > plan.POWER:
            high = middle
        else:
            low = middle
    return low


def detectable(variance: Variance, tasks: int, trials: float) -> float:
    """Smallest gap (of one) found 80 % of the time; the variance may depend on the gap itself."""
    gap = 0.1
    for _ in range(20):
        between, within = variance(gap)
        last = gap
        gap = min(1.0, noncentrality(tasks) * sqrt((between + within / trials) / tasks))
        if abs(gap - last) < 0.0005:
            break
    return gap


def half_width(variance: Variance, tasks: int, trials: int) -> float:
    """Half-width (of one) of the 95 % interval for tasks like these at a true gap of 0."""
    between, within = variance(0.0)
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2)) * sqrt((between + within / trials) / tasks)


def scenario_variance(scenario: Scenario) -> Variance:
    """A scenario's variances by gap, looked up on a grid of 2.5 points."""
    known = cache(lambda step: moments(scenario, step * 0.025))
    return lambda gap: known(round(gap / 0.025))


@dataclass(frozen=True)
class SampleSizes:
    """Tasks of the same kind and number of trials that answer a question in 80 % of studies.

    Attributes:
        ahead: Who is ahead, at a true gap of 10 points; as many show 10 or more at one of 20.
        no_difference: That the gap is less than 5 points either way, at a true gap of 0.
    """

    ahead: int
    no_difference: int


def sample_sizes(spread: float) -> SampleSizes | None:
    """The sizes by the standard deviation of the per-task differences, of one.

    None where it is 0, which is not certainty.
    """
    if spread <= 0:
        return None
    direction, noise = float(plan.DIRECTION) / spread, float(plan.NOISE) / spread
    quantile = ndtri(1 - plan.ALPHA / 2)
    return SampleSizes(
        _smallest(
            lambda size: finds(direction, size), ((quantile + ndtri(plan.POWER)) / direction) ** 2
        ),
        _smallest(
            lambda size: excludes(noise, size),
            ((quantile + ndtri((1 + plan.POWER) / 2)) / noise) ** 2,
        ),
    )


def finds(effect: float, size: int) -> float:
    """How often the interval excludes 0; `effect` is the true gap in standard deviations."""
    return float(1 - nctdtr(size - 1, effect * sqrt(size), stdtrit(size - 1, 1 - plan.ALPHA / 2)))


def excludes(margin: float, size: int) -> float:
    """How often the interval lies within ± `margin` standard deviations, at a true gap of 0."""
    room = margin * sqrt(size) - stdtrit(size - 1, 1 - plan.ALPHA / 2)
    return max(0.0, 2 * float(ndtr(room)) - 1)


def _smallest(power: Callable[[int], float], about: float) -> int:
    """The first size from just below the normal approximation on that has the power."""
    size = max(2, ceil(about) - 1)
    while power(size) < plan.POWER:
        size += 1
    return size


class Outlook(NamedTuple):
    """Studies whose shells pass at one rate: the share that cannot tell, and the gap found."""

    cannot_tell: float
    gap: float


def outlook(rate: float, tasks: int, trials: int, count: int = 4000) -> Outlook:
    """By scenario D with another mean; a ceiling is computed as the floor that it mirrors."""
    scenario = replace(SCENARIOS["D"], mean=min(rate, 1 - rate))
    rng = np.random.default_rng(plan.SEED)
    rates = np.array(draw_rates(scenario, 0.0, 20_000, rng))
    rates = rates[:, rng.integers(0, 20_000, size=(count, tasks))]
    passes = rng.binomial(trials, rates).sum(axis=2)
    cannot_tell = float((passes.max(axis=0) <= plan.FLOOR * tasks * trials).mean())
    return Outlook(cannot_tell, detectable(scenario_variance(scenario), tasks, trials))


def outlook_lines(study: Study, tasks: int) -> list[str]:
    """What may come of a study of so many tasks; nothing where it compares no shells."""
    rate = study.assume
    if not set(gap_shells(study.shells)) <= set(study.shells):
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    found, at = outlook(rate, tasks, study.trials), f"{100 * rate:g} %"
    side, space = ("below" if rate < 0.5 else "above"), min(rate, 1 - rate)
    return [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * found.cannot_tell:.0f} % of "
        f"studies end with tasks too {'hard' if rate < 0.5 else 'easy'} to tell by how much the "
        f"shells differ. A gap of {100 * found.gap:.0f} points is found {100 * plan.POWER:.0f} % of "
        f"the time; {side} {at} there is space for {100 * space:.0f}.",
    ]


class Pilot(NamedTuple):
    """Variances from one model's results, of one squared, unbiased.

    Attributes:
        sd: The standard deviation of the per-task differences, as the report states it.
        between: Between tasks, cut off at 0.
        within: Of one trial in both shells.
        upper: The end of the 95 % interval of the variance between tasks, by chi-square.
    """

    sd: float
    between: float
    within: float
    upper: float

    def at(self, gap: float) -> tuple[float, float]:
        """As a `Variance`; with the upper end where none was seen between tasks."""
        return self.between or self.upper, self.within


def pilot_variance(outcomes: Outcomes) -> Pilot | None:
    """What one model's results say of the variances.

    None where a task has fewer than two trials in a shell, or fewer than two tasks were measured:
    the two cannot be distinguished then.
    """
    paired = pair_by_task(outcomes)
    if paired is None or len(paired.tasks) < 2:
        return None
    noise = trial_noise(outcomes, paired)
    if noise is None:
        return None
    (within, of_means), freedom = noise, len(paired.tasks) - 1
    spread = task_sd(paired.differences)
    total = spread**2
    largest = freedom * total / float(chdtri(freedom, 1 - plan.ALPHA / 2))
    return Pilot(spread, max(0.0, total - of_means), within, max(0.0, largest - of_means))


TASKS = (20, 40, 60, 100, 200)
TRIALS = (1, 3, 5, 10, inf)


def power_text(
    pilots: Sequence[tuple[str, Pilot]], tasks: int, trials: int, sets: Mapping[str, int]
) -> str:
    """The tables in plain text.

    Args:
        pilots: Models with their variances; without any, the scenarios of docs/method.md.
        tasks: The design's.
        trials: The design's.
        sets: Sets of tasks with their sizes, to be compared.
    """
    sources: list[tuple[str, Variance]] = [(f"results of {name}", p.at) for name, p in pilots]
    sizes = [[f"results of {name}", *_needed(p.sd, p.sd)] for name, p in pilots]
    lines = [f"This design: {tasks} tasks x {trials} trials, one model."]
    if not sources:
        sources = [(f"scenario {s.name}", scenario_variance(s)) for s in SCENARIOS.values()]
        lines.append("There are no results with two trials a cell yet: scenarios are assumed.")
        lines += [f"  {s.name}: {s.words}" for s in SCENARIOS.values()]
        sizes = scenario_sizes(trials)
    lines += ["", "Tasks that answer a question 80 % of the time, as in the report:"]
    lines += [columns([SIZE_HEADS, *sizes])]
    lines += ["", f"The sets of tasks, with {trials} trials, in points:"]
    lines += [columns([SET_HEADS, *set_rows(sources, sets, trials)])]
    for title, variance in sources:
        lines += ["", f"{title}: smallest true gap found 80 % of the time, in points"]
        lines += [_grid(variance, tasks, trials)]
    unseen = [name for name, pilot in pilots if not pilot.between]
    if unseen:
        lines += ["", f"No variance between tasks was seen for {', '.join(unseen)}: the end of its"]
        lines += ["95 % interval is used."]
    lines += ["", "* this design; inf: any number of trials. More trials help down to that column"]
    lines += [
        "only. A pilot's variance is uncertain: with 20 tasks by a third. n/a: nothing varied."
    ]
    return "\n".join(lines)


SIZE_HEADS = ["", "who is ahead (true gap 10)", "less than 5 (true gap 0)"]
SET_HEADS = ["source", "set", "tasks", "half-width of the interval", "gap found"]


def set_rows(
    sources: Sequence[tuple[str, Variance]], sets: Mapping[str, int], trials: int
) -> list[list[str]]:
    """A row for each source and set, in points; `n/a` where nothing varies."""
    return [
        [
            title,
            name,
            str(tasks),
            _points(half_width(variance, tasks, trials)),
            _points(detectable(variance, tasks, trials)),
        ]
        for title, variance in sources
        for name, tasks in sets.items()
        if tasks > 1
    ]


def scenario_sizes(trials: int) -> list[list[str]]:
    """A row for each scenario: the tasks that answer each question."""
    rows = []
    for name, scenario in SCENARIOS.items():
        spreads = []
        for gap in (float(plan.DIRECTION), 0.0):
            between, within = scenario_variance(scenario)(gap)
            spreads.append(sqrt(between + within / trials))
        rows.append([f"scenario {name}", *_needed(*spreads)])
    return rows


def _needed(at_ten: float, at_zero: float) -> list[str]:
    """The tasks for each question, by the spread at its true gap."""
    ahead, alike = sample_sizes(at_ten), sample_sizes(at_zero)
    return [str(ahead.ahead) if ahead else "n/a", str(alike.no_difference) if alike else "n/a"]


def _grid(variance: Variance, tasks: int, trials: int) -> str:
    """The gap found by tasks and trials; the design's own is marked."""
    counts = sorted({*TRIALS, trials})
    rows = [["tasks", *(f"{count:g} tr." for count in counts)]]
    for size in sorted({*TASKS, tasks} - {0, 1}):
        gaps = (
            _points(detectable(variance, size, count)) + "*" * ((size, count) == (tasks, trials))
            for count in counts
        )
        rows.append([str(size), *gaps])
    return columns(rows)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows in plain text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([head.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for head, *rest in rows
    )


def _points(gap: float) -> str:
    return f"{100 * gap:.1f}" if gap else "n/a"


def main(study: Study, results: Path = RESULTS) -> int:
    """Print the tables for a study: from its own results, else from the scenarios."""
    tasks = load_tasks(study.tasks)
    path, ids, pilots = Path(results) / study.study / "cells.csv", [task.id for task in tasks], []
    for alias, rows in read_table(path).groupby("model", sort=False) if path.exists() else ():
        if found := pilot_variance(count_outcomes(rows, ids, study.trials, study.shells)):
            pilots.append((str(alias), found))
    sets = {name: len(found.tasks) for name, found in task_sets().items()}
    print(power_text(pilots, len(tasks), study.trials, sets))
    return 0
