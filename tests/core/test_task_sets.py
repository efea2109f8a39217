"""Sets of tasks are data: a study names one, its tasks are exactly those, and a mistake is one sentence."""

import shutil
from pathlib import Path

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import ROOT, TASKS
from fluency.core.study import PILOT, read_study
from fluency.core.tasks import SETS, load_tasks, set_name, task_sets

FULL, DEMANDING, ALL = "full-60", "demanding", "full-116"
TWO = ["crate-versions", "tree-size-bytes"]


@pytest.fixture
def bank(tmp_path) -> Path:
    """Three tasks, and a set of two of them."""
    for name in (*TWO, "worker-queues"):
        shutil.copytree(TASKS / name, tmp_path / name)
    return write(tmp_path, {"small": {"description": "two", "tasks": TWO[::-1]}})


def write(bank: Path, sets: object) -> Path:
    (bank / SETS).write_text(yaml.safe_dump(sets), encoding="utf-8")
    return bank


def test_the_sets_nest_as_their_names_say_and_every_folder_is_in_one():
    sets = {name: found.tasks for name, found in task_sets().items()}
    assert len(sets[PILOT]) == 20 and len(sets[FULL]) == 60
    assert set(sets[PILOT]) < set(sets[FULL])
    assert len(sets[DEMANDING]) == 56 and len(sets[ALL]) == 116
    assert set(sets[FULL]) | set(sets[DEMANDING]) == set(sets[ALL])
    there = {path.name for path in TASKS.glob("[!._]*/")}
    assert there == {task for tasks in sets.values() for task in tasks}, "name a further task in a set of its own"
    assert len(load_tasks(PILOT)) == 20
    asked = [read_study().tasks, *(read_study(ROOT / "config" / f"{name}.yaml").tasks for name in ("demo", "study"))]
    assert asked == [PILOT] * 3


def test_a_set_is_known_by_its_tasks_however_they_were_asked_for(bank):
    assert set_name(TWO, bank) == set_name(TWO[::-1], bank) == "small"
    assert set_name([*TWO, "worker-queues"], bank) == set_name(TWO[:1], bank) == ""
    assert set_name(TWO, bank / "worker-queues") == "", "a bank without sets has none"


def test_a_set_all_and_a_list_choose_their_tasks_in_the_order_of_ids_and_read_no_other(bank):
    assert [task.id for task in load_tasks("all", bank)] == [*TWO, "worker-queues"]
    assert [task.id for task in load_tasks(["worker-queues"], bank)] == ["worker-queues"]
    (bank / "worker-queues" / "task.yaml").write_text("a: [\n")
    assert [task.id for task in load_tasks("small", bank)] == TWO
    with pytest.raises(UserError, match="not YAML"):
        load_tasks("all", bank)


@pytest.mark.parametrize(
    ("sets", "wanted", "what", "where"),
    [
        ({}, "smal", "there are: other, all; tasks by id are a list", "tasks: smal"),
        ({}, "othr", 'Hint: did you mean "other"?', "tasks: othr"),
        ({}, ["tree-sise-bytes"], 'Hint: did you mean "tree-size-bytes"?', "tasks: tree-sise-bytes"),
        ({"small": {"description": "x", "tasks": TWO, "task": []}}, "small", 'did you mean "tasks"?', "small.task"),
        ({"small": {"description": "x", "tasks": TWO, "hue": 1}}, "small", "docs/adding-a-task.md lists", "small.hue"),
        ({"small": {"description": "x", "tasks": ["lost"]}}, "small", "there is no such task", "tasks: small: lost"),
        ({"small": {"description": "x", "tasks": TWO[:1] * 2}}, "small", "named twice", "small"),
        ({"small": {"description": "x", "tasks": []}}, "small", "at least one entry", "small.tasks"),
        ({"small": {"description": "x"}}, "small", "missing", "small.tasks"),
        ({"small": TWO}, "small", "its keys", "small"),
    ],
)
def test_a_mistake_is_named(bank, sets, wanted, what, where):
    with pytest.raises(UserError) as caught:
        load_tasks(wanted, write(bank, {"other": {"description": "y", "tasks": TWO}} | sets))
    assert what in str(caught.value) and where in caught.value.where, caught.value
    assert caught.value.hint
