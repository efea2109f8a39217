"""What gap a design could detect: from a pilot's own variance where there is one, else from scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import inf, sqrt
from pathlib import Path

from scipy.optimize import brentq
from scipy.stats import nct, norm
from scipy.stats import t as student

from fluency.analysis.analysis_plan import ALPHA, POWER
from fluency.analysis.gap import mean, pair
from fluency.analysis.outcomes import Outcomes, count_outcomes
from fluency.analysis.scenarios import SCENARIOS, Scenario, moments
from fluency.common.paths import RESULTS
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks

TASKS = (20, 40, 60, 100, 200)
TRIALS = (1, 2, 3, 5, 10, 20, inf)
Variance = Callable[[float], tuple[float, float]]
"""By the true gap: between tasks, and of one trial in both arms."""
Detect = Callable[[Variance, int, float], float]
"""The smallest gap found, by variance, tasks and trials."""


@cache
def noncentrality(tasks: int) -> float:
    """The t statistic's shift that a two-sided test at 5 % over so many tasks finds 80 % of the time."""
    edge = student.ppf(1 - ALPHA / 2, tasks - 1)
    found = brentq(lambda shift: nct.sf(edge, tasks - 1, shift) - POWER, 0.5, 30, xtol=1e-6)
    return float(found)


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
    return float((norm.ppf(1 - ALPHA / 2) + norm.ppf(POWER)) * sqrt(within / trials / tasks))


def scenario_variance(scenario: Scenario) -> Variance:
    """A scenario's variances by gap, looked up on a grid of 2.5 points."""
    known = cache(lambda step: moments(scenario, step * 0.025))
    return lambda gap: known(round(gap / 0.025))


def pilot_variance(outcomes: Outcomes) -> tuple[float, float] | None:
    """Variance between tasks and of one trial, unbiased from one model's results.

    None where a task has fewer than two trials in a shell, or fewer than two tasks were measured: the two
    cannot be told apart then. The variance between tasks is cut off at zero.
    """
    paired = pair(outcomes)
    if paired is None or len(paired.tasks) < 2:
        return None
    differences = [float(d) for d in paired.differences]
    centre = float(mean(paired.differences))
    total = sum((d - centre) ** 2 for d in differences) / (len(differences) - 1)
    of_means, of_one = [], []
    for place, task in enumerate(outcomes.tasks):
        if task not in paired.tasks:
            continue
        cells = [(arm.passes[place], arm.scored[place]) for arm in (outcomes.baseline, outcomes.challenger)]
        if min(n for _, n in cells) < 2:
            return None
        of_one.append(sum(c * (n - c) / n / (n - 1) for c, n in cells))
        of_means.append(sum(c * (n - c) / n**2 / (n - 1) for c, n in cells))
    return max(0.0, total - sum(of_means) / len(of_means)), sum(of_one) / len(of_one)


def power_text(pilots: Sequence[tuple[str, tuple[float, float]]], tasks: int, trials: int) -> str:
    """The tables in plain text: of each pilot (name, variances) if there are any, else of the scenarios."""
    sources = [(f"from the results of {name}", _constant(found)) for name, found in pilots]
    if not sources:
        sources = [(f"scenario {s.name}: {s.words}", scenario_variance(s)) for s in SCENARIOS.values()]
    sizes = sorted({*TASKS, tasks} - {0, 1})
    counts = sorted({*TRIALS, trials})
    lines = [
        f"Smallest true gap on pass@1, in points, that is found {POWER:.0%} of the time (two-sided {ALPHA:.0%}).",
        f"This design: {tasks} tasks x {trials} trials, one model. inf: as many trials as one likes.",
    ]
    if not pilots:
        lines.append("There are no results with two trials a cell yet, so the scenarios of docs/method.md are used.")
    for title, variance in sources:
        for words, detect in (("tasks like these", detectable_like), ("exactly these tasks", detectable_these)):
            lines += ["", f"{title}; {words}", _table(variance, detect, sizes, counts, (tasks, trials))]
    lines += [
        "",
        "* this design. More tasks help both claims; more trials help a claim about these tasks, and one about tasks",
        "like these only down to the column inf. A pilot's variance is itself uncertain: with 20 tasks by a quarter.",
    ]
    return "\n".join(lines)


def main(study: Study, results: Path = RESULTS) -> int:
    """Print the tables for a study, from its own results where there are any."""
    tasks = load_tasks(study.tasks)
    path = Path(results) / study.study / "cells.csv"
    pilots = []
    if path.exists():
        frame = read_table(path)
        for model in study.models:
            rows = frame[frame["model"] == model.alias]
            if rows.empty:
                continue
            found = pilot_variance(count_outcomes(rows, [task.id for task in tasks], study.trials, study.shells))
            if found is not None:
                pilots.append((model.alias, found))
    print(power_text(pilots, len(tasks), study.trials))
    return 0


def _constant(variance: tuple[float, float]) -> Variance:
    return lambda gap: variance


def _table(
    variance: Variance, detect: Detect, sizes: Sequence[int], counts: Sequence[float], here: tuple[int, int]
) -> str:
    if detect is detectable_these:
        counts = [count for count in counts if count != inf]
    head = ["tasks", *(f"{count:g} tr." for count in counts)]
    rows = []
    for size in sizes:
        cells = [f"{100 * detect(variance, size, count):.1f}" + "*" * ((size, count) == here) for count in counts]
        rows.append([str(size), *cells])
    return "\n".join("".join(f"{cell:>9}" for cell in row) for row in [head, *rows])
