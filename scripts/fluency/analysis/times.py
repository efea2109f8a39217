"""Time: the whole of a run, the first pass, and the command alone; descriptive, no verdict.

"Wall-clock to first pass" has two readings, T_run and T_first; both are kept apart from t_exec, the
only one of the three that can see the shell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from fluency.analysis.decision_table import HORIZON_S
from fluency.analysis.outcomes import ordered_shells


class Quartiles(NamedTuple):
    """Quartiles and median of seconds."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class ShellTimes:
    """One shell of one model.

    Attributes:
        passes: Passing runs.
        scored: Measured runs.
        t_run: Seconds of generation and execution of the passing runs; None without any.
        t_exec: Seconds of the command alone, same runs.
        t_first: Mean seconds to the first pass, at most the horizon; None without such tasks.
        first_tasks: The tasks it is a mean of: it is known for them in every measured shell.
        never_passed: Tasks without a pass.
        tasks: Tasks with a measured run.
    """

    passes: int
    scored: int
    t_run: Quartiles | None
    t_exec: Quartiles | None
    t_first: float | None
    first_tasks: int
    never_passed: int
    tasks: int


class Trial(NamedTuple):
    """A measured run: seconds are NaN where they are unknown, and where no command ran."""

    number: int
    passed: bool
    t_gen: float
    t_exec: float


def times(rows: pd.DataFrame, trials: int, shells: Sequence[str]) -> dict[str, ShellTimes]:
    """The times of every shell of one model."""
    known = rows[rows["status"].eq("measured") & rows["passed"].notna()].sort_values("trial")
    known = known.astype({"t_gen_s": float, "t_exec_s": float})
    measured = {shell: known[known["shell"] == shell] for shell in ordered_shells(shells)}
    firsts = {
        shell: {str(task): _first(cells, trials) for task, cells in own.groupby("task")}
        for shell, own in measured.items()
        if len(own)
    }
    paired = [
        task
        for task in sorted(set.intersection(*map(set, firsts.values())) if firsts else ())
        if None not in (own[task] for own in firsts.values())
    ]
    found = {}
    for shell, own in measured.items():
        passed = own[own["passed"].eq(True)]
        first = [min(HORIZON_S, firsts[shell][task] or 0.0) for task in paired if len(own)]
        tasks = own["task"].nunique()
        found[shell] = ShellTimes(
            passes=len(passed),
            scored=len(own),
            t_run=_quartiles(passed["t_gen_s"] + passed["t_exec_s"]),
            t_exec=_quartiles(passed["t_exec_s"]),
            t_first=fmean(first) if first else None,
            first_tasks=len(first),
            never_passed=tasks - passed["task"].nunique(),
            tasks=tasks,
        )
    return found


def _first(cells: pd.DataFrame, trials: int) -> float | None:
    columns = (cells[name] for name in ("trial", "passed", "t_gen_s", "t_exec_s"))
    return time_to_first_pass([Trial(*cell) for cell in zip(*columns, strict=True)], trials)


def time_to_first_pass(task: Sequence[Trial], trials: int) -> float | None:
    """Seconds to the first pass as if trials ran one after another.

    Infinite if no trial passes before the horizon. None if a trial before the first pass is missing
    or has no time, and the trials before it do not reach the horizon: the sum is not known.
    """
    total = 0.0
    for index, trial in enumerate(task, start=1):
        if total >= HORIZON_S:
            return inf
        if trial.number != index or isnan(trial.t_gen):
            return None
        total += trial.t_gen + (0.0 if isnan(trial.t_exec) else trial.t_exec)
        if trial.passed:
            return total
    return inf if len(task) == trials or total >= HORIZON_S else None


def _quartiles(seconds: pd.Series) -> Quartiles | None:
    known = seconds.dropna()
    return Quartiles(*known.quantile([0.25, 0.5, 0.75])) if len(known) else None
