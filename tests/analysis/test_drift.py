"""Drift by hand and by its properties: every answer once, in order, whatever the order of the rows. The order of asking."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from fluency.analysis.descriptive import (
    TIME_SLICES,
    asking_order,
    drift,
    trials_added_later,
)
from fluency.core.study import Cell
from fluency.core.table import to_frame
from tests.synthetic_tables import make_frame, make_rows, make_study, make_tasks, random_passes

TASKS = make_tasks(6)
STUDY = make_study(trials=4)
SHELLS = ["bash", "pwsh"]


def test_every_measured_answer_is_in_one_stretch_and_time_only_goes_on() -> None:
    frame = make_frame(STUDY, TASKS, random_passes())
    found = drift(frame, SHELLS)
    sizes = [sum(shell.scored for shell in stretch.by_shell.values()) for stretch in found]
    assert len(found) == TIME_SLICES and sum(sizes) == len(frame) and max(sizes) - min(sizes) <= 1
    assert (
        sum(shell.passes for stretch in found for shell in stretch.by_shell.values())
        == frame["passed"].sum()
    )
    times = [time for stretch in found for time in (stretch.first_utc, stretch.last_utc)]
    assert times == sorted(times)
    assert drift(frame.iloc[::-1], SHELLS) == found


def test_a_service_that_slows_down_and_gets_worse_is_seen_in_both_shells() -> None:
    rows = make_rows(STUDY, TASKS, lambda cell: cell.trial < 4)
    found = drift(
        to_frame(
            [
                row.model_copy(
                    update={
                        "t_gen_s": float(row.trial),
                        "asked_utc": f"2026-05-01T10:0{row.trial}:00Z",
                    }
                )
                for row in rows
            ]
        ),
        SHELLS,
    )
    for shell in SHELLS:
        assert [stretch.by_shell[shell].t_gen for stretch in found] == [1, 2, 3, 4]
        assert [stretch.by_shell[shell].passes for stretch in found] == [6, 6, 6, 0]


@pytest.mark.parametrize("answers", [0, 1, 3])
def test_few_answers_make_few_stretches(answers: int) -> None:
    frame = make_frame(STUDY, TASKS, lambda cell: True).head(answers)
    if answers == 0:
        frame = make_frame(STUDY, TASKS, lambda cell: True, asked_utc=None)
    assert len(drift(frame, SHELLS)) == answers


FIVE_TRIALS, TWENTY = make_study(trials=5), make_tasks(20)


def asked(late: Callable[[Cell, float], float], **more):
    """Answers in the planned order, one a minute and eight at a time, each as many hours later as `late` says.

    late: takes a cell and its planned place, from 0 to 1.
    """
    made = make_rows(FIVE_TRIALS, TWENTY, passes, **more)
    rows = {Cell(row.model, row.shell, row.task, row.trial): row for row in made}
    for place, cell in enumerate(sorted(rows, key=lambda cell: -FIVE_TRIALS.priority(cell))):
        minutes = place + place * 37 % 8 + 60 * late(cell, place / len(rows))
        time = (datetime(2026, 5, 1) + timedelta(minutes=minutes)).isoformat(timespec="seconds")
        rows[cell] = rows[cell].model_copy(update={"asked_utc": f"{time}Z"})
    return to_frame(list(rows.values()))


def passes(cell: Cell) -> bool:
    return cell.trial < 5 or cell.task > "task-10"


# fmt: off
ORDERS: dict[str, tuple[Callable[[Cell, float], float], str, float]] = {
    "honest": (lambda cell, place: 0, "kept", 0),
    "resumed": (lambda cell, place: 9 * (place > 0.3), "resumed", 0),
    "one shell a day after the other": (lambda cell, place: 24 * (cell.shell == "pwsh"), "departed", 1),
    "failing answers asked for again after two hours": (
        lambda cell, place: 0 if passes(cell) else 2 + 3 * (1 - place), "departed", 0),
    "tasks added after a look": (lambda cell, place: 24 * (cell.task > "task-10"), "departed", 0),
    "two tasks asked first": (lambda cell, place: 24 * (cell.task > "task-02"), "departed", 0),
    "trials added after a look": (lambda cell, place: 24 * (cell.trial > 2), "departed", 0),
}
# fmt: on


@pytest.mark.parametrize("name", ORDERS)
def test_asking_order_counts_late_answers(name: str) -> None:
    delay, state, apart = ORDERS[name]
    found = asking_order(asked(delay), "model-x", FIVE_TRIALS)
    assert found.state == state
    assert found.days_apart == pytest.approx(apart, abs=0.1)
    assert (
        asking_order(asked(delay).sample(frac=1, random_state=1), "model-x", FIVE_TRIALS) == found
    )
    if "failing" in name:
        assert 5 <= sum(found.late.values()) <= 20, "of twenty, those planned early"
    if "shell" in name:
        assert found.late["pwsh"] > 60 and found.late["bash"] == 0


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_asking_order_of_parallel_work_is_kept(workers: int) -> None:
    """First in, first out with workers of random speed; retries take ten times as long."""
    rng = random.Random(workers)
    free, times = [0.0] * workers, {}
    cells = list(FIVE_TRIALS.cells([task.id for task in TWENTY]))
    for cell in sorted(cells, key=FIVE_TRIALS.priority, reverse=True):
        worker = free.index(min(free))
        took = rng.expovariate(1) * (10 if rng.random() < 0.05 else 1)
        times[cell] = free[worker]
        free[worker] += took
    rows = [
        row.model_copy(
            update={
                "asked_utc": f"{(datetime(2026, 5, 1) + timedelta(seconds=at)).isoformat()}Z",
            }
        )
        for row in make_rows(FIVE_TRIALS, TWENTY, passes)
        for at in [round(times[Cell(row.model, row.shell, row.task, row.trial)])]
    ]
    assert asking_order(to_frame(rows), "model-x", FIVE_TRIALS).state == "kept"


def test_asking_order_of_few_answers_is_unknown() -> None:
    frame = asked(ORDERS["honest"][0])
    assert asking_order(frame.head(39), "model-x", FIVE_TRIALS).state == "unknown"
    assert asking_order(frame.assign(asked_utc=None), "model-x", FIVE_TRIALS).days_apart is None


def test_tasks_that_were_asked_first_do_not_hide_that_trials_were_added_later() -> None:
    late = lambda cell, place: 24 * (cell.trial > 2 and cell.task > "task-02")  # noqa: E731
    assert trials_added_later(asked(late)) == (2,)
    assert (
        trials_added_later(asked(ORDERS["honest"][0]))
        == trials_added_later(asked(ORDERS["resumed"][0]))
        == ()
    )
