"""Where the variance of a run lies: against an analysis of variance, against known populations, in the limits."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from fluency.analysis.descriptive import variance_shares
from fluency.analysis.outcomes import ShellPasses, pair_by_task
from tests.synthetic_tables import contrasted


def shares(bash: list[int], pwsh: list[int], trials: int = 5):
    outcomes = contrasted(
        *(ShellPasses(tuple(passes), (trials,) * len(passes)) for passes in (bash, pwsh)), trials
    )
    return variance_shares(outcomes, pair_by_task(outcomes))


@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_the_expected_mean_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    level = rng.random(20)
    counts = [
        rng.binomial(5, np.clip(level + rng.normal(0, 0.25, 20), 0, 1)).tolist() for _ in range(2)
    ]
    cells = itertools.product(range(20), range(2), range(5))
    rows = [(task, shell, int(trial < counts[shell][task])) for task, shell, trial in cells]
    frame = pd.DataFrame(rows, columns=["task", "shell", "passed"])
    table = sm.stats.anova_lm(smf.ols("passed ~ C(task) * C(shell)", frame).fit())
    squares = table["mean_sq"]
    trial = squares["Residual"]
    shell = max(0.0, (squares["C(task):C(shell)"] - trial) / 5)
    task = max(0.0, (squares["C(task)"] - squares["C(task):C(shell)"]) / 10)
    found, total = shares(*counts), trial + shell + task
    expected = (task / total, shell / total, trial / total)
    assert (found.task, found.task_and_shell, found.trial) == pytest.approx(expected)
    assert found == shares(*counts[::-1]), "which shell is which is of no consequence"


def test_the_limits() -> None:
    task = shares([5] * 10 + [0] * 10, [5] * 10 + [0] * 10)
    assert (task.task, task.task_and_shell, task.trial) == (1, 0, 0)
    shell = shares([5, 0] * 10, [0, 5] * 10)
    assert (shell.task, shell.task_and_shell, shell.trial) == (0, 1, 0)
    trial = shares([2, 3] * 10, [3, 2] * 10)
    assert (trial.task, trial.task_and_shell, trial.trial) == (0, 0, 1) and shares(
        [0] * 20, [0] * 20
    ) is None
    assert shares([0, 1], [1, 1], trials=1) is None and shares([3], [2]) is None
