"""What a design could detect and what each question takes: from a pilot's variance if there is one, else scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, sqrt
from pathlib import Path
from typing import NamedTuple

from scipy.stats import chi2

from fluency.analysis.analysis_plan import ALPHA, POWER
from fluency.analysis.bands import DIRECTION_PP
from fluency.analysis.detectable import Detect, Variance, detectable_like, detectable_these, scenario_variance
from fluency.analysis.gap import pair
from fluency.analysis.intervals import task_sd
from fluency.analysis.outcomes import Outcomes, count_outcomes
from fluency.analysis.sample_size import sample_sizes
from fluency.analysis.scenarios import SCENARIOS
from fluency.analysis.set_power import sets_table
from fluency.analysis.simulated import SAMPLE_SIZES
from fluency.analysis.variance import trial_noise
from fluency.common.paths import RESULTS
from fluency.core.study import Study
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks, task_sets

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
    cannot be told apart then.
    """
    paired = pair(outcomes)
    if paired is None or len(paired.tasks) < 2:
        return None
    noise = trial_noise(outcomes, paired)
    if noise is None:
        return None
    (within, of_means), freedom = noise, len(paired.tasks) - 1
    total = task_sd(paired.differences) ** 2
    largest = freedom * total / float(chi2.ppf(ALPHA / 2, freedom))
    return Pilot(max(0.0, total - of_means), within, max(0.0, largest - of_means))


def power_text(
    pilots: Sequence[tuple[str, Pilot]], tasks: int, trials: int, sets: Mapping[str, int] | None = None
) -> str:
    """The tables in plain text: of each pilot (name, variances) if there are any, else of the scenarios.

    `sets` names sets of tasks with their sizes, to be compared.
    """
    sources: list[tuple[str, Variance]] = []
    for name, pilot in pilots:
        unseen = (
            "" if pilot.between else "; no variance between tasks was seen, so the end of its 95 % interval is used"
        )
        sources.append((f"from the results of {name}{unseen}", pilot.at))
    if not pilots:
        sources = [(f"scenario {s.name}: {s.words}", scenario_variance(s)) for s in SCENARIOS.values()]
    sizes = sorted({*TASKS, tasks} - {0, 1})
    counts = sorted({*TRIALS, trials})
    lines = [
        f"Smallest true gap on pass@1, in points, that is found {POWER:.0%} of the time (two-sided {ALPHA:.0%}).",
        f"This design: {tasks} tasks x {trials} trials, one model. inf: as many trials as one likes.",
    ]
    if not pilots:
        lines.append("There are no results with two trials a cell yet, so the scenarios of docs/method.md are used.")
    if sets:
        shown = [(title.split(":")[0].removeprefix("from the "), variance) for title, variance in sources]
        lines += ["", f"The sets of tasks side by side, with {trials} trials:", sets_table(shown, sets, trials)]
    for title, variance in sources:
        for words, detect in (("tasks like these", detectable_like), ("exactly these tasks", detectable_these)):
            lines += ["", f"{title}; {words}", _table(variance, detect, sizes, counts, (tasks, trials))]
    lines += ["", *_sizes(pilots, trials)]
    lines += [
        "",
        "* this design. More tasks help both claims; more trials help a claim about these tasks, and one about tasks",
        "like these only down to the column inf. A pilot's variance is itself uncertain: with 20 tasks by a third.",
        "n/a: nothing varied, which is no certainty; or a gap beyond what the scenario can hold.",
    ]
    return "\n".join(lines)


def _sizes(pilots: Sequence[tuple[str, Pilot]], trials: int) -> list[str]:
    """The three questions, each with the tasks that it takes."""
    lines = [
        f"Tasks at which a question is answered {POWER:.0%} of the time, with {trials if pilots else 5} trials:",
        f"{'':12}{'who is ahead':>16}{f'{DIRECTION_PP} or more':>16}{'no difference':>16}",
        f"{'true gap':12}{DIRECTION_PP:16}{2 * DIRECTION_PP:16}{0:16}",
    ]
    rows: list[tuple[str, tuple[int | None, ...]]] = list(SAMPLE_SIZES.items())
    if pilots:
        found = [(name, sample_sizes(sqrt(p.at(0.0)[0] + p.within / trials))) for name, p in pilots]
        rows = [(name, (n.ahead, n.ahead, n.no_difference) if n else (None,) * 3) for name, n in found]
    return lines + [f"{name:12}" + "".join(f"{'n/a' if n is None else n:>16}" for n in needed) for name, needed in rows]


def main(
    study: Study, results: Path = RESULTS, observed: Callable[[list[str]], Sequence[tuple[str, Pilot]]] = lambda _: ()
) -> int:
    """Print the tables for a study: from its own results, else from what was `observed` of its tasks elsewhere."""
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
    pilots = pilots or list(observed([task.id for task in tasks]))
    sets = {name: len(found.tasks) for name, found in task_sets().items()}
    print(power_text(pilots, len(tasks), study.trials, sets))
    return 0


def _table(
    variance: Variance, detect: Detect, sizes: Sequence[int], counts: Sequence[float], here: tuple[int, int]
) -> str:
    if detect is detectable_these:
        counts = [count for count in counts if count != inf]
    head = ["tasks", *(f"{count:g} tr." for count in counts)]
    rows = []
    for size in sizes:
        found = [detect(variance, size, count) for count in counts]
        cells = [
            (f"{100 * gap:.1f}" if gap else "n/a") + "*" * ((size, count) == here)
            for gap, count in zip(found, counts, strict=True)
        ]
        rows.append([str(size), *cells])
    return "\n".join("".join(f"{cell:>9}" for cell in row) for row in [head, *rows])
