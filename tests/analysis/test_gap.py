"""Tasks enter by one rule, and two models never meet."""

from fractions import Fraction

import pandas as pd
import pytest

from fluency.analysis.outcomes import (
    Outcomes,
    PoolingError,
    ShellPasses,
    count_outcomes,
)
from fluency.analysis.robustness import sensitivities
from fluency.core.shells import DESIGN_SHELLS
from tests.synthetic_tables import contrasted, make_frame, make_study, make_tasks, random_passes


def outcomes(bash: list[tuple[int, int]], pwsh: list[tuple[int, int]], trials: int = 5) -> Outcomes:
    counts = [
        ShellPasses(tuple(c for c, _ in shell), tuple(n for _, n in shell))
        for shell in (bash, pwsh)
    ]
    return contrasted(*counts, trials)


def test_pair_by_task_needs_half_of_the_trials() -> None:
    paired = outcomes([(1, 3), (1, 2), (0, 5)], [(3, 3), (2, 5), (0, 2)]).paired()
    assert paired.tasks == ("t0",) and paired.gap == Fraction(2, 3)


def test_pair_by_task_of_one_or_no_trial() -> None:
    assert outcomes([(1, 1)], [(0, 1)], trials=1).paired().gap == -1
    assert outcomes([(0, 0)], [(1, 1)], trials=1).paired() is None


def test_gap_weighs_tasks_equally() -> None:
    paired = outcomes([(0, 3), (5, 5)], [(3, 3), (5, 5)]).paired()
    assert paired.gap == Fraction(1, 2) and (
        paired.baseline.total_passes,
        paired.baseline.total_scored,
    ) == (5, 8)


def test_missing_bounds_are_the_best_and_worst_over_all_tasks() -> None:
    low, high = outcomes([(5, 5), (0, 4)], [(5, 5), (2, 3)]).bounds()
    worst = outcomes([(5, 5), (1, 5)], [(5, 5), (2, 5)]).gap
    best = outcomes([(5, 5), (0, 5)], [(5, 5), (4, 5)]).gap
    assert (low, high) == (worst, best)


def test_counts_refuse_rows_of_two_models() -> None:
    study, tasks = make_study(("model-x", "model-y")), make_tasks(4)
    frame = make_frame(study, tasks, random_passes())
    ids = tuple(task.id for task in tasks)
    for compute in (
        lambda rows: count_outcomes(rows, ids, 5, DESIGN_SHELLS),
        lambda rows: sensitivities(rows, ids, 5, DESIGN_SHELLS),
    ):
        with pytest.raises(PoolingError, match="never pooled"):
            compute(frame)


def test_count_outcomes_leaves_unknown_marks_out() -> None:
    study, tasks = make_study(), make_tasks(2)
    frame = make_frame(study, tasks, lambda cell: True)
    frame.loc[0, "lenient_passed"] = pd.NA
    rows = frame.assign(passed=frame["lenient_passed"])
    counted = count_outcomes(rows, [task.id for task in tasks], 5, DESIGN_SHELLS)
    assert counted.baseline.scored == (4, 5) and counted.baseline.passes == (4, 5)
