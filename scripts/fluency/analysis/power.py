"""What gap a design can detect, and how large a study must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil, inf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtr, ndtr, ndtri, stdtrit

from fluency.analysis import plan
from fluency.analysis.intervals import task_sd
from fluency.analysis.outcomes import Outcomes, count_outcomes, pair_by_task, trial_noise
from fluency.analysis.scenarios import SCENARIOS, Scenario, draw_rates, moments
from fluency.analysis.simulated import SAMPLE_SIZES
from fluency.common.paths import RESULTS
from fluency.core.shells import gap_shells
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks, task_sets

Variance = Callable[[float], tuple[float, float]]
"""By the true gap: between tasks, and of one trial in both shells."""
Detect = Callable[[Variance, int, float], float]
"""The smallest gap found, by variance, tasks and trials."""


@cache
def noncentrality(tasks: int) -> float:
    """The t statistic's shift that a two-sided test at 5 % over so many tasks finds 80 % of the time."""
    low, high = 0.5, 30.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if finds(middle / sqrt(tasks), tasks) > plan.POWER else (middle, high)
        )
    return low


def detectable_like(variance: Variance, tasks: int, trials: float) -> float:
    """Smallest gap (of one) detected for "tasks like these"; the variance may depend on the gap itself."""
    gap = 0.1
    for _ in range(20):
        between, within = variance(gap)
        gap, last = min(1.0, noncentrality(tasks) * sqrt((between + within / trials) / tasks)), gap
        if abs(gap - last) < 0.0005:
            break
    return gap


def detectable_these(variance: Variance, tasks: int, trials: float) -> float:
    """Smallest gap (of one) detected on exactly these tasks: trial noise alone, normal approximation."""
    _, within = variance(0.1)
    return float((ndtri(1 - plan.ALPHA / 2) + ndtri(plan.POWER)) * sqrt(within / trials / tasks))


def scenario_variance(scenario: Scenario) -> Variance:
    """A scenario's variances by gap, looked up on a grid of 2.5 points."""
    known = cache(lambda step: moments(scenario, step * 0.025))
    return lambda gap: known(round(gap / 0.025))


@dataclass(frozen=True)
class SampleSizes:
    """Tasks like these, with as many trials as were taken, at which a question is answered in 80 % of studies.

    ahead: who is, of a true gap of 10 points; as many for 10 points or more, of a true gap of 20.
    no_difference: that the gap is less than 5 points either way, of a true gap of 0.
    """

    ahead: int
    no_difference: int


def sample_sizes(spread: float) -> SampleSizes | None:
    """From the standard deviation of the per-task differences, of one; None where it is 0, which is no certainty."""
    if spread <= 0:
        return None
    direction, noise = float(plan.DIRECTION) / spread, float(plan.NOISE) / spread
    two_sided = ndtri(1 - plan.ALPHA / 2) + ndtri(plan.POWER)
    two_tests = ndtri(1 - plan.ALPHA) + ndtri((1 + plan.POWER) / 2)
    return SampleSizes(
        _smallest(lambda size: finds(direction, size), (two_sided / direction) ** 2),
        _smallest(lambda size: excludes(noise, size), (two_tests / noise) ** 2),
    )


def finds(effect: float, size: int) -> float:
    """Power of the two-sided paired t test at 5 % over so many tasks; `effect` in standard deviations."""
    return float(1 - nctdtr(size - 1, effect * sqrt(size), stdtrit(size - 1, 1 - plan.ALPHA / 2)))


def excludes(margin: float, size: int) -> float:
    """How often the 90 % interval lies within ± `margin` standard deviations, of a true gap of 0 and a known spread."""
    room = margin * sqrt(size) - stdtrit(size - 1, 1 - plan.ALPHA)
    return max(0.0, 2 * float(ndtr(room)) - 1)


def _smallest(power: Callable[[int], float], about: float) -> int:
    """The first size from just below the normal approximation on that has the power."""
    size = max(2, ceil(about) - 1)
    while power(size) < plan.POWER:
        size += 1
    return size


def half_width(variance: Variance, tasks: int, trials: int) -> float:
    """Half-width (of one) of the 95 % interval for tasks like these at a true gap of 0, by the variances."""
    between, within = variance(0.0)
    return float(stdtrit(tasks - 1, 1 - plan.ALPHA / 2)) * sqrt((between + within / trials) / tasks)


class Outlook(NamedTuple):
    """Of studies whose shells pass at one rate: the share that cannot tell, and the smallest gap (of one) found."""

    cannot_tell: float
    gap: float


def outlook(rate: float, tasks: int, trials: int, count: int = 4000) -> Outlook:
    """By scenario D with another mean; a Beta is symmetric, so a ceiling is computed as the floor it mirrors."""
    scenario = replace(SCENARIOS["D"], mean=min(rate, 1 - rate))
    rng = np.random.default_rng(plan.RESAMPLE_SEED)
    rates = np.array(draw_rates(scenario, 0.0, 20_000, rng))[
        :, rng.integers(0, 20_000, size=(count, tasks))
    ]
    passes = rng.binomial(trials, rates).sum(axis=2)
    cannot_tell = float((passes.max(axis=0) <= plan.FLOOR * tasks * trials).mean())
    return Outlook(cannot_tell, detectable_like(scenario_variance(scenario), tasks, trials))


def outlook_lines(study: Study, tasks: int) -> list[str]:
    """What may come of a study of so many tasks, in plain text; nothing where it compares no shells."""
    contrast, rate = gap_shells(study.shells), study.assume
    if not set(contrast) <= set(study.shells):
        return []
    if tasks < plan.MIN_TASKS:
        return [f"A verdict needs {plan.MIN_TASKS} tasks, this study has {tasks}."]
    found, words, at = (
        outlook(rate, tasks, study.trials),
        plan.band_words(contrast),
        f"{100 * rate:g} %",
    )
    side, space = ("below" if rate < 0.5 else "above"), min(rate, 1 - rate)
    lines = [
        f"If both shells pass {at} of runs (`assume: {rate:g}`), {100 * found.cannot_tell:.0f} % of studies end with "
        f"*cannot tell*. A gap of {100 * found.gap:.0f} points is found {100 * plan.POWER:.0f} % of the time; {side} "
        f"{at} there is space for {100 * space:.0f}.",
    ]
    if excluded := plan.rows_out_of_reach((Fraction(str(rate)),) * 2):
        rows = ", ".join(words[band].condition for band in excluded)
        lines.append(
            f"Rows of the table out of reach at that rate: {rows}. Harder tasks can tell more."
        )
    return lines


MEASURES: Mapping[str, Callable[[Variance, int, int], float]] = {
    "half-width": half_width,
    "gap, tasks like these": detectable_like,
    "gap, these tasks": detectable_these,
}
"""The columns: half-width of the 95 % interval for tasks like these, and the smallest true gaps that are found."""


def set_rows(
    sources: Sequence[tuple[str, Variance]], sets: Mapping[str, int], trials: int
) -> list[list[str]]:
    """A row for each source and set: both names, tasks, and each measure in points; `n/a` where nothing varies."""
    return [
        [
            title,
            name,
            str(tasks),
            *(_points(measure(variance, tasks, trials)) for measure in MEASURES.values()),
        ]
        for title, variance in sources
        for name, tasks in sets.items()
        if tasks > 1
    ]


def columns(rows: Sequence[Sequence[object]]) -> str:
    """Rows in plain text: the first column to the left, the others to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  ".join([head.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for head, *rest in texts
    )


def _points(gap: float) -> str:
    return f"{100 * gap:.1f}" if gap else "n/a"


TASKS = (20, 40, 60, 100, 200)
TRIALS = (1, 2, 3, 5, 10, 20, inf)


class Pilot(NamedTuple):
    """Variances from one model's results, of one squared, unbiased: between tasks (cut off at 0), and of one trial.

    upper: the end of the 95 % interval of the variance between tasks, by chi-square.
    """

    between: float
    within: float
    upper: float

    def at(self, gap: float) -> tuple[float, float]:
        """As a `Variance`, the gap being of no consequence: with the upper end where none was seen between tasks."""
        return self.between or self.upper, self.within


def pilot_variance(outcomes: Outcomes) -> Pilot | None:
    """What one model's results say of the variances.

    None where a task has fewer than two trials in a shell, or fewer than two tasks were measured: the two
    cannot be distinguished then.
    """
    paired = pair_by_task(outcomes)
    if paired is None or len(paired.tasks) < 2:
        return None
    noise = trial_noise(outcomes, paired)
    if noise is None:
        return None
    (within, of_means), freedom = noise, len(paired.tasks) - 1
    total = task_sd(paired.differences) ** 2
    largest = freedom * total / float(chdtri(freedom, 1 - plan.ALPHA / 2))
    return Pilot(max(0.0, total - of_means), within, max(0.0, largest - of_means))


def power_text(
    pilots: Sequence[tuple[str, Pilot]], tasks: int, trials: int, sets: Mapping[str, int]
) -> str:
    """The tables in plain text: of each pilot (name, variances) if there are any, else of the scenarios.

    `sets` names sets of tasks with their sizes, to be compared.
    """
    unseen = "; no variance between tasks was seen, so the end of its 95 % interval is used"
    sources: list[tuple[str, Variance]] = [
        (f"from the results of {name}{'' if pilot.between else unseen}", pilot.at)
        for name, pilot in pilots
    ] or [(f"scenario {s.name}: {s.words}", scenario_variance(s)) for s in SCENARIOS.values()]
    lines = [
        f"Smallest true gap, in points, that is found {plan.POWER:.0%} of the time (two-sided {plan.ALPHA:.0%}).",
        f"This design: {tasks} tasks x {trials} trials, one model. inf: as many trials as one likes.",
    ]
    if not pilots:
        lines.append(
            "There are no results with two trials a cell yet, so the scenarios of docs/method.md are used."
        )
    shown = [
        (title.split(":")[0].removeprefix("from the "), variance) for title, variance in sources
    ]
    rows = [["source", "set", "tasks", *MEASURES], *set_rows(shown, sets, trials)]
    lines += ["", f"The sets of tasks side by side, with {trials} trials:", columns(rows)]
    for title, variance in sources:
        for words, detect in (
            ("tasks like these", detectable_like),
            ("exactly these tasks", detectable_these),
        ):
            lines += ["", f"{title}; {words}", _table(variance, detect, tasks, trials)]
    return "\n".join(
        [
            *lines,
            "",
            f"Tasks that answer a question {plan.POWER:.0%} of the time, with {trials if pilots else 5} trials:",
            _sizes(pilots, trials),
            "",
            "* this design. More tasks help both claims; more trials help a claim about these tasks, and one about",
            "tasks like these only down to the column inf. A pilot's variance is uncertain: with 20 tasks by a third.",
            "n/a: nothing varied, which is no certainty; or a gap beyond what the scenario can hold.",
        ]
    )


def _table(variance: Variance, detect: Detect, tasks: int, trials: int) -> str:
    """The gap found by tasks and trials; the design's own is marked."""
    counts = [
        count for count in sorted({*TRIALS, trials}) if count != inf or detect is detectable_like
    ]
    rows = [
        [
            size,
            *(
                _points(detect(variance, size, count)) + "*" * ((size, count) == (tasks, trials))
                for count in counts
            ),
        ]
        for size in sorted({*TASKS, tasks} - {0, 1})
    ]
    return columns([["tasks", *(f"{count:g} tr." for count in counts)], *rows])


def _sizes(pilots: Sequence[tuple[str, Pilot]], trials: int) -> str:
    """The three questions, each with the tasks that it takes."""
    rows: list[tuple[str, tuple[int | None, ...]]] = list(SAMPLE_SIZES.items())
    if pilots:
        found = [(name, sample_sizes(sqrt(p.at(0.0)[0] + p.within / trials))) for name, p in pilots]
        rows = [
            (name, (n.ahead, n.ahead, n.no_difference) if n else (None,) * 3) for name, n in found
        ]
    heads = ["", "who is ahead", f"{plan.DIRECTION_PP} or more", "no difference"]
    gaps = ["true gap", plan.DIRECTION_PP, 2 * plan.DIRECTION_PP, 0]
    return columns(
        [
            heads,
            gaps,
            *([name, *("n/a" if n is None else n for n in needed)] for name, needed in rows),
        ]
    )


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
