"""The order in which answers were asked."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from fluency.analysis.descriptive import asking_order
from fluency.core.study import Cell
from fluency.core.table import to_frame
from tests.synthetic_tables import make_rows, make_study, make_tasks

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
    "resumed": (lambda cell, place: 9 * (place > 0.3), "kept", 0),
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
            update={"asked_utc": f"{(datetime(2026, 5, 1) + timedelta(seconds=at)).isoformat()}Z"}
        )
        for row in make_rows(FIVE_TRIALS, TWENTY, passes)
        for at in [round(times[Cell(row.model, row.shell, row.task, row.trial)])]
    ]
    assert asking_order(to_frame(rows), "model-x", FIVE_TRIALS).state == "kept"


@pytest.mark.parametrize(("again", "state"), [(0, "kept"), (3, "departed")])
def test_asking_order_of_a_small_study_can_depart(again: int, state: str) -> None:
    """Three answers from the middle of 48 are asked again at the end."""
    study = make_study(trials=4)
    rows = make_rows(study, make_tasks(6), lambda cell: True)
    rows.sort(key=lambda row: -study.priority(Cell(row.model, row.shell, row.task, row.trial)))
    times = [
        (
            datetime(2026, 5, 1) + timedelta(minutes=place + 60 * (30 <= place < 30 + again))
        ).isoformat()
        for place in range(len(rows))
    ]
    frame = to_frame(
        [
            row.model_copy(update={"asked_utc": f"{time}Z"})
            for row, time in zip(rows, times, strict=True)
        ]
    )
    assert asking_order(frame, "model-x", study).state == state


def test_asking_order_of_few_answers_is_unknown() -> None:
    frame = asked(ORDERS["honest"][0])
    assert asking_order(frame.head(39), "model-x", FIVE_TRIALS).state == "unknown"
    assert asking_order(frame.assign(asked_utc=None), "model-x", FIVE_TRIALS).days_apart is None
