"""What is described: pass@k, times by hand, and the order in which answers were asked."""

import random
from collections.abc import Callable
from math import inf, nan

import pytest

from fluency.analysis.descriptive import asking_order, pass_k, solved, time_to_first_pass, times
from fluency.analysis.outcomes import ShellPasses
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Cell
from tests.synthetic_tables import contrasted, make_frame, make_study, make_tasks

TASKS = make_tasks(4)
STUDY = make_study(trials=3)
FIVE_TRIALS, TWENTY = make_study(trials=5), make_tasks(20)


def test_pass_k_of_nothing_is_undefined():
    pair = contrasted(ShellPasses((0,), (0,)), ShellPasses((0,), (0,)))
    assert pass_k(pair)["bash"].value is None and solved(pair).gap is None


@pytest.mark.parametrize(
    "cells, planned, expected",
    [
        ([(1, False, 2, 1), (2, True, 3, 0.5), (3, True, 9, 9)], 3, 6.5),
        # An answer without a command costs its generation.
        ([(1, False, 2, nan), (2, True, 1, 1)], 2, 4),
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
def test_time_to_first_pass_adds_all_before_it(cells, planned, expected):
    assert time_to_first_pass(cells, planned) == expected


def test_times_take_rows_in_any_order():
    frame = make_frame(STUDY, TASKS, lambda cell: cell.trial == 3)
    assert times(frame, 3, DESIGN_SHELLS) == times(frame.iloc[::-1], 3, DESIGN_SHELLS)


def asked(minutes: Callable[[Cell, int], float], study=FIVE_TRIALS, tasks=TWENTY):
    return make_frame(study, tasks, passes, minutes=minutes)


def passes(cell: Cell):
    return cell.trial < 5 or cell.task > "task-10"


# fmt: off
ORDERS: dict[str, tuple[Callable[[Cell, float], float], str, float]] = {
    "honest": (lambda cell, place: 0, "kept", 0),
    "resumed": (lambda cell, place: 9 * (place > 0.3), "kept", 0),
    "one shell a day after the other": (
        lambda cell, place: 24 * (cell.shell == "pwsh"), "departed", 1),
    "failing answers asked for again after two hours": (
        lambda cell, place: 0 if passes(cell) else 2 + 3 * (1 - place), "departed", 0),
    "tasks added after a look": (lambda cell, place: 24 * (cell.task > "task-10"), "departed", 0),
    "two tasks asked first": (lambda cell, place: 24 * (cell.task > "task-02"), "departed", 0),
    "trials added after a look": (lambda cell, place: 24 * (cell.trial > 2), "departed", 0),
}
# fmt: on
"""How many hours late, by cell and share of the order; the state, and by how many days apart."""


def late(name):
    """One answer a minute and eight at a time, some of them late."""
    hours, _, _ = ORDERS[name]
    return asked(lambda cell, place: place + place * 37 % 8 + 60 * hours(cell, place / 200))


@pytest.mark.parametrize("name", ORDERS)
def test_asking_order_counts_late_answers(name):
    _, state, apart = ORDERS[name]
    frame = late(name)
    found = asking_order(frame, "model-x", FIVE_TRIALS)
    assert found.state == state
    assert found.day["pwsh"] - found.day["bash"] == pytest.approx(apart, abs=0.1)
    mixed = frame.sample(frac=1, random_state=1)
    assert asking_order(mixed, "model-x", FIVE_TRIALS) == found
    if "failing" in name:
        assert 5 <= sum(found.late.values()) <= 20, "of twenty, those planned early"
    if "shell" in name:
        assert found.late["pwsh"] > 60 and found.late["bash"] == 0


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_asking_order_of_parallel_work_is_kept(workers):
    """First in, first out with workers of random speed; retries take ten times as long."""
    rng = random.Random(workers)
    free, seconds = [0.0] * workers, []
    for _ in range(200):
        worker = free.index(min(free))
        seconds.append(free[worker])
        free[worker] += rng.expovariate(1) * (10 if rng.random() < 0.05 else 1)
    frame = asked(lambda cell, place: seconds[place] / 60)
    assert asking_order(frame, "model-x", FIVE_TRIALS).state == "kept"


def test_asking_order_of_a_small_study_can_depart():
    """Three answers from the middle of 48 are asked again at the end."""
    study, at_the_end = make_study(trials=4), range(30, 33)
    frame = asked(lambda cell, place: place + 60 * (place in at_the_end), study, make_tasks(6))
    assert asking_order(frame, "model-x", study).state == "departed"


@pytest.mark.parametrize("minutes, state", [(18.5, "kept"), (22.5, "departed")])
def test_asking_order_leaves_a_tenth_of_the_answers(minutes, state):
    frame = asked(lambda cell, place: place + minutes * (place == 50))
    assert asking_order(frame, "model-x", FIVE_TRIALS).state == state


def test_asking_order_of_few_answers_is_unknown():
    frame = late("honest")
    assert asking_order(frame.head(39), "model-x", FIVE_TRIALS).state == "unknown"
    assert asking_order(frame.assign(asked_utc=None), "model-x", FIVE_TRIALS).day == {}
