"""Times by hand: what counts as a run's time, what a first pass costs, and when neither is known."""

from math import inf, nan

import pytest

from fluency.analysis.decision_table import HORIZON_S
from fluency.analysis.descriptive import time_to_first_pass, times
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.table import to_frame
from tests.synthetic_tables import make_frame, make_rows, make_study, make_tasks, random_passes

TASKS = make_tasks(4)
STUDY = make_study(trials=3)


@pytest.mark.parametrize(
    ("cells", "planned", "expected"),
    [
        ([(1, False, 2, 1), (2, True, 3, 0.5), (3, True, 9, 9)], 3, 6.5),
        (
            [(1, False, 2, nan), (2, True, 1, 1)],
            2,
            4,
        ),  # an answer without a command costs its generation
        ([(1, False, 2, 1), (2, False, 2, 1)], 2, inf),
        ([(1, False, 2, 1)], 2, None),
        ([(2, True, 2, 1)], 2, None),
        ([(1, True, nan, 1)], 1, None),
        # Trials before a gap are enough where they reach the horizon.
        ([(1, False, 40, 1), (2, False, 20, 1)], 5, inf),
        ([(1, False, 40, 1), (2, False, 20, 1), (4, True, 1, 1)], 5, inf),
        ([(1, False, 40, 1), (2, False, 10, 1)], 5, None),
    ],
)
def test_time_to_first_pass_adds_all_before_it(
    cells: list, planned: int, expected: float | None
) -> None:
    assert time_to_first_pass(cells, planned) == expected


def test_t_first_is_over_the_same_tasks_in_all_shells() -> None:
    """task-01 passes in neither and misses a trial in one: it is left out of both, where one alone would look faster."""
    rows = []
    for row in make_rows(STUDY, TASKS, lambda cell: cell.task != "task-01", t_exec_s=0.0):
        lost = (row.task, row.shell, row.trial) == ("task-01", "pwsh", 2)
        time = {"t_gen_s": 2.0 if row.shell == "pwsh" else 1.0}
        rows.append(row.model_copy(update={"status": "missing", "passed": None} if lost else time))
    bash, pwsh = times(to_frame(rows), 3, DESIGN_SHELLS).values()
    assert (bash.first_tasks, pwsh.first_tasks) == (3, 3)
    assert (bash.t_first, pwsh.t_first) == (1.0, 2.0)
    alone = times(to_frame([row for row in rows if row.shell == "bash"]), 3, DESIGN_SHELLS)["bash"]
    assert (alone.first_tasks, alone.t_first) == (4, (3 * 1.0 + 60) / 4)


def test_t_first_of_never_passed_tasks_is_the_horizon() -> None:
    found = times(
        make_frame(STUDY, TASKS, lambda cell: cell.shell == "bash", t_gen_s=1.0, t_exec_s=0.5),
        3,
        DESIGN_SHELLS,
    )
    assert found["bash"].t_first == 1.5
    assert found["pwsh"].t_first == HORIZON_S
    assert found["pwsh"].never_passed == 4
    assert found["pwsh"].t_run is None


def test_times_without_latencies() -> None:
    found = times(make_frame(STUDY, TASKS, lambda cell: True, t_gen_s=None), 3, DESIGN_SHELLS)[
        "pwsh"
    ]
    assert found.t_run is None
    assert found.t_first is None
    assert list(found.t_exec) == sorted(found.t_exec)


def test_times_ignore_the_order_of_rows() -> None:
    frame = make_frame(STUDY, TASKS, random_passes())
    assert times(frame, 3, DESIGN_SHELLS) == times(frame.iloc[::-1], 3, DESIGN_SHELLS)
