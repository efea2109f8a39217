"""Any odd and any even seed make a pair, and the generator's own count agrees with the answers."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest

from fluency.common.errors import UserError
from fluency.core.study import PILOT
from fluency.core.tasks import load_tasks
from fluency.validation.seeds import check_world_pair
from fluency.world import WorldError, build_world, build_world_and_answers

SEEDS = range(1, 41)
TASKS = load_tasks(PILOT)
"""In the base world, whose generator counts what it meant; every other task brings a world of its own."""
STATIC = [task for task in TASKS if "processes" not in task.needs]


def _comparable(task, answer):
    return answer if task.content == "ordered" else sorted(answer, key=json.dumps)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_answers_read_from_the_world_are_what_the_generator_meant(seed: int) -> None:
    world, tally = build_world_and_answers(seed)
    counted = {task.id for task in STATIC} - {"fetch-redirect-sha256"}
    assert counted == set(tally)
    for task in STATIC:
        answer = task.expected(world)
        if task.id in tally:
            assert _comparable(task, answer) == _comparable(task, tally[task.id]), task.id
        single = task.structure.lines == "exactly-one" or task.content == "jsonset"
        assert len(answer) >= (1 if single else 2), task.id


@pytest.mark.parametrize("seeds", list(pairwise(SEEDS)), ids=str)
def test_neighbouring_seeds_are_a_pair(seeds: tuple[int, int]) -> None:
    check_world_pair(seeds, TASKS)


@pytest.mark.parametrize("seeds", [(11, 24), (2**31 + 1, 38)], ids=str)
def test_every_task_of_the_bank_has_another_answer_in_the_other_world(seeds: tuple[int, int]) -> None:
    check_world_pair(seeds, load_tasks())


def test_every_odd_seed_goes_with_every_even_one() -> None:
    check_world_pair(list(SEEDS), STATIC)


def test_two_worlds_of_one_parity_are_refused() -> None:
    with pytest.raises(UserError, match="an odd and an even seed"):
        check_world_pair((11, 13), TASKS)


def test_an_answer_that_two_worlds_share_is_named() -> None:
    same = SimpleNamespace(id="same", needs=[], folder=TASKS[0].folder, expected=lambda *_: ["always"])
    with pytest.raises(WorldError, match="world 24: same has the same answer as in world 11"):
        check_world_pair((11, 24), [same])


def test_an_answer_about_processes_that_two_worlds_share_is_named() -> None:
    same = SimpleNamespace(
        id="same",
        needs=["processes"],
        folder=TASKS[0].folder,
        expected=lambda _, processes: [p.name for p in processes if p.name == "vox-sched"],
    )
    with pytest.raises(WorldError, match="world 24: same has the same answer as in world 11"):
        check_world_pair((11, 24), [same])


def test_big_and_negative_seeds_build_too() -> None:
    check_world_pair((2**63 + 1, -4), TASKS)
    assert build_world(2**63 + 1).sha256 != build_world(1).sha256
