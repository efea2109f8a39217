"""Where the variance of a run lies: in its task, in what its shell does to that task, in the trial."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pandas as pd

from fluency.analysis.gap import Paired
from fluency.analysis.intervals import task_sd
from fluency.analysis.outcomes import Outcomes, one_model


@dataclass(frozen=True)
class VarianceShares:
    """Shares of one of a run's variance about its arm's mean, by moments, none below 0; they add up to 1."""

    task: float
    task_and_shell: float
    trial: float


def trial_noise(outcomes: Outcomes, paired: Paired) -> tuple[float, float] | None:
    """Mean over the compared tasks of what trials alone give a per-task difference: (with one trial, as measured).

    None where a task has a single trial in an arm.
    """
    of_one, of_means = [], []
    for place in map(outcomes.tasks.index, paired.tasks):
        cells = [(arm.passes[place], arm.scored[place]) for arm in (outcomes.baseline, outcomes.challenger)]
        if min(n for _, n in cells) < 2:
            return None
        of_one.append(sum(c * (n - c) / n / (n - 1) for c, n in cells))
        of_means.append(sum(c * (n - c) / n**2 / (n - 1) for c, n in cells))
    return fmean(of_one), fmean(of_means)


def variance_shares(outcomes: Outcomes, paired: Paired) -> VarianceShares | None:
    """The shares over both contrasted arms; None with fewer than two tasks or trials, or where no run varied.

    The expected mean squares of a task x shell design with replicates; with two shells the variance between tasks is
    the covariance of the arms' rates.
    """
    noise = trial_noise(outcomes, paired)
    if noise is None or len(paired.tasks) < 2:
        return None
    of_one, of_means = noise
    arms = [[float(rate) for rate in arm] for arm in (paired.baseline, paired.challenger)]
    task = max(0.0, float(np.cov(arms)[0, 1]))
    shell = max(0.0, (task_sd(paired.differences) ** 2 - of_means) / 2)
    total = task + shell + of_one / 2
    return VarianceShares(task / total, shell / total, of_one / 2 / total) if total else None


def passed_in_some_worlds(rows: pd.DataFrame, shell: str) -> int:
    """Measured cells of one model's arm that passed in one world and failed in another."""
    one_model(rows)
    part = rows[(rows["shell"] == shell) & (rows["status"] == "measured")]
    return int(((part["worlds_passed"] > 0) & (part["worlds_passed"] < part["worlds_run"])).sum())
