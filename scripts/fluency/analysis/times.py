"""Time: the whole of a run, the first pass, and the command alone. Descriptive and secondary, no verdict.

"Wall-clock to first pass" has two readings, T_run and T_first; both are kept apart from t_exec, the only one
of the three that can see the shell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fluency.analysis.decision_table import HORIZON_S
from fluency.analysis.outcomes import one_model, ordered_shells


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles of seconds, and how many values they come from."""

    median: float
    low: float
    high: float
    size: int


@dataclass(frozen=True)
class ShellTimes:
    """One shell of one model; None where the time was not taken (replayed answers) or nothing passed.

    t_run: seconds of generation and execution of the passing runs. t_exec: of the command alone, same runs.
    t_first: restricted mean of the time to the first pass, failures at the horizon, over the `first_tasks` tasks for
    which it is known in every measured shell, so that all shells are means over the same tasks.
    """

    shell: str
    passes: int
    scored: int
    t_run: Quartiles | None
    t_exec: Quartiles | None
    t_first: float | None
    first_tasks: int
    never_passed: int
    tasks: int


class Trial(NamedTuple):
    """What the times need of a measured cell."""

    number: int
    passed: bool
    t_gen: float | None
    t_exec: float | None

    @property
    def spent(self) -> float | None:
        """Seconds in all; an answer without a command costs only its generation."""
        return None if self.t_gen is None else self.t_gen + (self.t_exec or 0.0)


def times(rows: pd.DataFrame, trials: int, shells: Sequence[str]) -> dict[str, ShellTimes]:
    """The times of every shell of one model."""
    one_model(rows)
    cells: dict[str, dict[str, list[Trial]]] = {shell: {} for shell in ordered_shells(shells)}
    columns = ("shell", "task", "trial", "status", "passed", "t_gen_s", "t_exec_s")
    for shell, task, number, status, passed, t_gen, t_exec in zip(
        *(rows[name] for name in columns), strict=True
    ):
        if shell in cells and status == "measured" and not pd.isna(passed):
            trial = Trial(int(number), bool(passed), _known(t_gen), _known(t_exec))
            cells[shell].setdefault(task, []).append(trial)
    firsts = {shell: _firsts(tasks, trials) for shell, tasks in cells.items() if tasks}
    paired = set.intersection(*(set(known) for known in firsts.values())) if firsts else set()
    return {
        shell: _shell_times(
            list(tasks.values()), shell, [firsts[shell][task] for task in tasks if task in paired]
        )
        for shell, tasks in cells.items()
    }


def _firsts(tasks: Mapping[str, Sequence[Trial]], trials: int) -> dict[str, float]:
    """The time to the first pass, up to the horizon, of the tasks for which it is known."""
    found = {task: time_to_first_pass(sorted(cells), trials) for task, cells in tasks.items()}
    return {task: min(first, HORIZON_S) for task, first in found.items() if first is not None}


def _shell_times(tasks: list[list[Trial]], shell: str, firsts: list[float]) -> ShellTimes:
    passed = [trial for task in tasks for trial in task if trial.passed]
    return ShellTimes(
        shell=shell,
        passes=len(passed),
        scored=sum(map(len, tasks)),
        t_run=_quartiles(
            [
                trial.spent
                for trial in passed
                if trial.spent is not None and trial.t_exec is not None
            ]
        ),
        t_exec=_quartiles([trial.t_exec for trial in passed if trial.t_exec is not None]),
        t_first=fmean(firsts) if firsts else None,
        first_tasks=len(firsts),
        never_passed=sum(not any(trial.passed for trial in task) for task in tasks),
        tasks=len(tasks),
    )


def time_to_first_pass(task: Sequence[Trial], trials: int) -> float | None:
    """Seconds to the first pass as if trials ran one after another in index order; infinite if none passes before
    the horizon.

    None where a trial before the first pass is missing or has no time, and those before it do not reach the horizon:
    then the sum is not known.
    """
    total = 0.0
    for index, trial in enumerate(task, start=1):
        if total >= HORIZON_S:
            return inf
        if trial.number != index or trial.spent is None:
            return None
        total += trial.spent
        if trial.passed:
            return total
    return inf if len(task) == trials or total >= HORIZON_S else None


def _known(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _quartiles(values: list[float]) -> Quartiles | None:
    if not values:
        return None
    low, middle, high = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    return Quartiles(middle, low, high, len(values))
