"""A task author's mistakes: each is one sentence with the file and the key, never a traceback."""

import shutil

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import ROOT, TASKS
from fluency.core.records import ProcessFact
from fluency.core.study import PILOT, read_study
from fluency.core.task_world import expected_in, world_for
from fluency.core.tasks import SETS, load_task, load_tasks, set_name, task_sets
from fluency.world import build_world

GOOD = yaml.safe_load((TASKS / "tree-size-bytes/task.yaml").read_text())
ANSWER = "def expected(world, processes):\n    return ['1', '2']\n"


def write(root, values, answer=ANSWER, folder="tree-size-bytes"):
    place = root / folder
    place.mkdir(parents=True)
    (place / "task.yaml").write_text(yaml.safe_dump(values))
    if answer is not None:
        (place / "answer.py").write_text(answer)
    return place


@pytest.mark.parametrize(
    "values, key, what",
    [
        (GOOD | {"promt": "x"}, "promt", "unknown key"),
        (GOOD | {"version": 0}, "version", "greater than or equal to 1"),
        (GOOD | {"category": "files"}, "category", "file-inspection"),
        (GOOD | {"content": "sets"}, "content", "ordered"),
        (GOOD | {"lean": "zsh"}, "lean", "neutral"),
        (GOOD | {"needs": ["network"]}, "needs.0", "processes"),
        (GOOD | {"structure": {"line": "("}}, "structure.line", "not a regular expression"),
        *[
            (GOOD | {"structure": both}, "structure", "either `line` or `json_shape`")
            for both in ({}, {"line": "x", "json_shape": "array"})
        ],
        (GOOD | {"references": {"bash": ["x"]}}, "references", "at least one command for pwsh"),
        (GOOD | {"wrong": {"bash": [], "pwsh": ["x"]}}, "wrong", "at least one command for bash"),
        (GOOD | {"references": {"zsh": ["x"]}}, "references", "unknown shell"),
        (GOOD | {"id": "Tree Size"}, "id", "pattern"),
    ],
)
def test_load_task_names_wrong_key_and_file(tmp_path, values, key, what):
    folder = write(tmp_path, values)
    with pytest.raises(UserError) as caught:
        load_task(folder)
    assert str(folder / "task.yaml") in caught.value.where and key in caught.value.where
    assert what in caught.value.what
    assert caught.value.hint and "docs/config.md" not in caught.value.hint


def test_task_lean_changes_neither_prompt_nor_check(tmp_path):
    plain = load_task(write(tmp_path / "plain", GOOD))
    declared = {"lean": "pwsh", "difficulty": "hard in bash"}
    leaning = load_task(write(tmp_path / "leaning", GOOD | declared))
    assert (plain.lean, plain.difficulty) == (None, None)
    assert (leaning.lean, leaning.difficulty) == ("pwsh", "hard in bash")
    assert plain.prompt_sha256 == leaning.prompt_sha256
    assert plain.check_sha256 == leaning.check_sha256 and plain.sha256 != leaning.sha256


def test_load_task_names_folder_without_task(tmp_path):
    with pytest.raises(UserError, match="the id is tree-size-bytes, the folder copied-task"):
        load_task(write(tmp_path, GOOD, folder="copied-task"))
    folder = write(tmp_path, GOOD, answer=None)
    with pytest.raises(UserError, match="the task has no answer") as caught:
        load_task(folder)
    assert caught.value.where == str(folder)


@pytest.mark.parametrize(
    "file, code, what",
    [
        (
            "answer.py",
            "def expected(world, processes): return 1 / 0",
            "answer raised ZeroDivisionError",
        ),
        ("answer.py", "def expected(world, processes): return world.files['x']", "raised KeyError"),
        ("answer.py", "def expect(world, processes): return []", "answer raised AttributeError"),
        ("answer.py", "def expected(world, processes)", "answer raised SyntaxError"),
        ("answer.py", "import nowhere", "answer raised ModuleNotFoundError"),
        ("fixture.py", "def extend(builder, rng): raise RuntimeError('no')", "RuntimeError: no"),
        ("fixture.py", "x = 1", "fixture raised AttributeError"),
        ("fixture.py", "extend = lambda b, _: b.file('Cargo.toml', 'x')", "one entry a path"),
    ],
)
def test_expected_in_names_failing_file_and_world(tmp_path, file, code, what):
    folder = write(tmp_path, GOOD)
    (folder / file).write_text(code)
    with pytest.raises(UserError) as caught:
        expected_in(load_task(folder), 11)
    assert what in caught.value.what and "world 11" in caught.value.where


def test_world_for_applies_fixture_to_its_task_alone(tmp_path):
    folder = write(tmp_path, GOOD)
    before = world_for(load_task(folder), 11)
    extend = "def extend(builder, rng): builder.file('extra.json', str(rng.below(1000)))"
    (folder / "fixture.py").write_text(extend)
    after = world_for(load_task(folder), 11)
    assert before is build_world(11) and set(after.files) - set(before.files) == {"extra.json"}
    assert after.sha256 != before.sha256 and world_for(load_task(folder), 11) is after
    assert build_world(11) is before


def test_expected_is_computed_once_and_copied(tmp_path):
    answer = "calls = []\ndef expected(*_): calls.append(0); return [len(calls)]\n"
    task = load_task(write(tmp_path, GOOD, answer=answer))
    task.expected(build_world(11)).append("spoilt")
    assert task.expected(build_world(11)) == [1] and task.expected(build_world(24)) == [2]
    fact = ProcessFact(pid=1, name="a", ppid=0, rss_bytes=1, args=[])
    assert [task.expected(build_world(11), [fact]) for _ in range(2)] == [[3], [4]]


EASY, FULL, DEMANDING, ALL = "easy-20", "full-60", "demanding", "full"
TWO = ["crate-versions", "tree-size-bytes"]


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setattr("fluency.core.tasks.TASKS", tmp_path)
    for name in (*TWO, "worker-queues"):
        shutil.copytree(TASKS / name, tmp_path / name)
    return write_sets(tmp_path, {"small": {"description": "two", "tasks": TWO[::-1]}})


def write_sets(bank, sets):
    (bank / SETS).write_text(yaml.safe_dump(sets))
    return bank


def test_task_sets_nest_and_cover_every_folder():
    sets = {name: found.tasks for name, found in task_sets().items()}
    assert len(sets[PILOT]) == 20 and len(sets[FULL]) == 60 and set(sets[PILOT]) < set(sets[FULL])
    assert (len(sets[EASY]), len(sets[DEMANDING])) == (20, 68)
    parts = [*sets[EASY], *sets[FULL], *sets[DEMANDING], *sets["everyday"]]
    assert sorted(parts) == sorted(sets[ALL]), "full is the four, which have no task in common"
    there = {path.name for path in TASKS.glob("[!._]*/")}
    assert there == {task for tasks in sets.values() for task in tasks}, (
        "name a further task in its own set"
    )
    assert len(load_tasks(PILOT)) == 20
    configs = [[], *([ROOT / f"config/{name}.yaml"] for name in ("demo", "study"))]
    assert [read_study(*files).tasks for files in configs] == [EASY, EASY, PILOT]


def test_set_name_is_found_by_tasks(bank):
    assert set_name(TWO) == set_name(TWO[::-1]) == "small"
    assert set_name([*TWO, "worker-queues"]) == set_name(TWO[:1]) == ""
    (bank / SETS).unlink()
    assert set_name(TWO) == "", "a bank without sets has none"


def test_private_tasks_are_outside_the_project_under_ids_of_their_own(tmp_path, monkeypatch):
    write(tmp_path, GOOD)
    for place, says in ((TASKS, "outside the project"), (tmp_path, "has the id of a task of")):
        monkeypatch.setenv("TASKS_PRIVATE", str(place))
        with pytest.raises(UserError, match=says):
            load_tasks()


def test_load_tasks_orders_by_id_and_reads_no_other(bank):
    assert [task.id for task in load_tasks("all")] == [*TWO, "worker-queues"]
    assert [task.id for task in load_tasks(["worker-queues"])] == ["worker-queues"]
    (bank / "worker-queues/task.yaml").write_text("a: [\n")
    assert [task.id for task in load_tasks("small")] == TWO
    with pytest.raises(UserError, match="not YAML"):
        load_tasks("all")
    for name in (*TWO, "worker-queues"):
        shutil.rmtree(bank / name)
    with pytest.raises(UserError, match="no tasks here"):
        load_tasks("all")


def small(**changes):
    return {"small": {"description": "x", "tasks": TWO} | changes}


@pytest.mark.parametrize(
    "sets, wanted, what, where",
    [
        ({}, "smal", "there are: other, all; tasks by id are a list", "tasks: smal"),
        ({}, "othr", 'Hint: did you mean "other"?', "tasks: othr"),
        ({}, ["tree-sise-bytes"], 'did you mean "tree-size-bytes"?', "tasks: tree-sise-bytes"),
        (small(hue=1), "small", "docs/adding-a-task.md lists", "small.hue"),
        (small(tasks=["lost"]), "small", "no such task", "tasks: small: lost"),
        (small(tasks=TWO[:1] * 2), "small", "must be different", "small.tasks"),
        (small(tasks=[]), "small", "at least 1 item", "small.tasks"),
    ],
)
def test_load_tasks_names_mistake_in_sets(bank, sets, wanted, what, where):
    write_sets(bank, {"other": {"description": "y", "tasks": TWO}} | sets)
    with pytest.raises(UserError) as caught:
        load_tasks(wanted)
    assert what in str(caught.value) and where in caught.value.where, caught.value
    assert caught.value.hint
