"""Time: the whole of a run, the first pass, and the command alone. Descriptive and secondary, no verdict.

"Wall-clock to first pass" has two readings, T_run and T_first; both are kept apart from t_exec, the only one
of the three that can see the shell.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, median

import numpy as np
import pandas as pd
from scipy.stats import t as student

from fluency.analysis.outcomes import one_model
from fluency.analysis.plan import HORIZON_S
from fluency.cells import SHELLS


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of seconds, and how many values they come from."""

    median: float
    low: float
    high: float
    size: int


@dataclass(frozen=True)
class ArmTimes:
    """One shell of one model; None where the time was not taken (batches, replayed answers) or nothing passed.

    t_run: seconds of generation and execution of the passing runs. t_exec: of the command alone, same runs.
    t_first: restricted mean of the time to the first pass over `first_tasks` tasks, failures at the horizon.
    expected: median over tasks of (time of all measured trials) / passes, infinite where nothing passed
    (expected running time with restarts: Auger and Hansen 2005).
    """

    shell: str
    passes: int
    scored: int
    t_run: Spread | None
    t_exec: Spread | None
    t_first: float | None
    first_tasks: int
    expected: float | None
    never_passed: int
    tasks: int


@dataclass(frozen=True)
class ExecRatio:
    """How many times as long a command takes in PowerShell, over tasks that both shells pass at least once."""

    tasks: int
    median: float
    geometric_mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Times:
    """Both arms and their ratio."""

    arms: dict[str, ArmTimes]
    ratio: ExecRatio | None
    horizon_s: float


def times(rows: pd.DataFrame, trials: int) -> Times:
    """The times of one model."""
    one_model(rows)
    measured = rows[(rows["status"] == "measured") & rows["passed"].notna()].sort_values("trial", kind="stable")
    arms = {shell: _arm(measured[measured["shell"] == shell], shell, trials) for shell in SHELLS}
    return Times(arms, _ratio(measured), HORIZON_S)


def _arm(rows: pd.DataFrame, shell: str, trials: int) -> ArmTimes:
    passed = rows[rows["passed"].astype(bool)]
    firsts, expected, never = [], [], 0
    tasks = list(dict.fromkeys(rows["task"]))
    for task in tasks:
        part = rows[rows["task"] == task]
        marks = [bool(mark) for mark in part["passed"]]
        never += not any(marks)
        spent = [_spent(gen, execution) for gen, execution in zip(part["t_gen_s"], part["t_exec_s"], strict=True)]
        if None not in spent:
            expected.append(sum(spent) / sum(marks) if any(marks) else inf)
        first = time_to_first_pass([int(n) for n in part["trial"]], marks, spent, trials)
        if first is not None:
            firsts.append(min(first, HORIZON_S))
    return ArmTimes(
        shell=shell,
        passes=len(passed),
        scored=len(rows),
        t_run=_spread((passed["t_gen_s"] + passed["t_exec_s"]).dropna()),
        t_exec=_spread(passed["t_exec_s"].dropna()),
        t_first=fmean(firsts) if firsts else None,
        first_tasks=len(firsts),
        expected=median(expected) if expected else None,
        never_passed=never,
        tasks=len(tasks),
    )


def time_to_first_pass(numbers: list[int], marks: list[bool], spent: list[float | None], trials: int) -> float | None:
    """Seconds to the first pass as if trials ran one after another in index order; infinite if none passes.

    None where a trial before the first pass is missing or has no time: then the sum is not known.
    """
    total = 0.0
    for index, (number, mark, seconds) in enumerate(zip(numbers, marks, spent, strict=True), start=1):
        if number != index or seconds is None:
            return None
        total += seconds
        if mark:
            return total
    return inf if len(numbers) == trials else None


def _spent(generation: float | None, execution: float | None) -> float | None:
    """Seconds of one trial; an answer without a command costs only its generation."""
    if pd.isna(generation):
        return None
    return float(generation) + (0.0 if pd.isna(execution) else float(execution))


def _spread(values: pd.Series) -> Spread | None:
    if values.empty:
        return None
    low, middle, high = np.quantile(values.to_numpy(dtype=float), [0.25, 0.5, 0.75])
    return Spread(float(middle), float(low), float(high), len(values))


def _ratio(rows: pd.DataFrame) -> ExecRatio | None:
    """exp of the per-task log-ratio of median t_exec of passing runs; 95 % t interval over tasks for its mean."""
    passed = rows[rows["passed"].astype(bool) & (rows["t_exec_s"] > 0).fillna(False)]
    medians = passed.groupby(["task", "shell"], sort=False)["t_exec_s"].median().unstack()
    if not set(SHELLS) <= set(medians.columns):
        return None
    both = medians[list(SHELLS)].dropna()
    logs = [log(p / b) for b, p in zip(both["bash"], both["pwsh"], strict=True)]
    if not logs:
        return None
    centre = fmean(logs)
    low = high = None
    if len(logs) > 1:
        error = sqrt(sum((value - centre) ** 2 for value in logs) / (len(logs) - 1) / len(logs))
        half = float(student.ppf(0.975, len(logs) - 1)) * error
        low, high = exp(centre - half), exp(centre + half)
    return ExecRatio(len(logs), exp(median(logs)), exp(centre), low, high)
