"""A task author's mistakes: each is one sentence with the file and the key, never a traceback."""

from pathlib import Path

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.records import ProcessFact
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task, load_tasks
from fluency.world import build_world

GOOD = yaml.safe_load((TASKS / "tree-size-bytes" / "task.yaml").read_text(encoding="utf-8"))
ANSWER = "def expected(world, processes):\n    return ['1', '2']\n"


def write(root: Path, values: dict, answer: str | None = ANSWER, folder: str = "tree-size-bytes") -> Path:
    place = root / folder
    place.mkdir(parents=True)
    (place / "task.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    if answer is not None:
        (place / "answer.py").write_text(answer, encoding="utf-8")
    return place


def less(key: str) -> dict:
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("values", "key", "what"),
    [
        (GOOD | {"promt": "x"}, "promt", "unknown key"),
        (less("prompt"), "prompt", "this key is missing"),
        (GOOD | {"version": "two"}, "version", "valid integer"),
        (GOOD | {"version": 0}, "version", "greater than or equal to 1"),
        (GOOD | {"category": "files"}, "category", "file-inspection"),
        (GOOD | {"provenance": "mine"}, "provenance", "allowlist"),
        (GOOD | {"content": "sets"}, "content", "ordered"),
        (GOOD | {"lean": "zsh"}, "lean", "neutral"),
        (GOOD | {"needs": ["network"]}, "needs.0", "processes"),
        (GOOD | {"structure": {"line": "("}}, "structure.line", "not a regular expression"),
        (GOOD | {"structure": {}}, "structure", "either `line` or `json_shape`"),
        (GOOD | {"structure": {"line": "x", "lines": "two"}}, "structure.lines", "exactly-one"),
        (GOOD | {"structure": {"line": "x", "rule": "y"}}, "structure.rule", "unknown key"),
        (GOOD | {"references": {"bash": ["x"]}}, "references", "at least one command for pwsh"),
        (GOOD | {"wrong": {"bash": [], "pwsh": ["x"]}}, "wrong", "at least one command for bash"),
        (GOOD | {"references": {"zsh": ["x"], "bash": ["x"], "pwsh": ["x"]}}, "references", "there is no shell"),
        (GOOD | {"id": "Tree Size"}, "id", "pattern"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(tmp_path, values, key, what):
    folder = write(tmp_path, values)
    with pytest.raises(UserError) as caught:
        load_task(folder)
    assert str(folder / "task.yaml") in caught.value.where
    assert key in caught.value.where
    assert what in caught.value.what
    assert caught.value.hint and "docs/config.md" not in caught.value.hint


def test_what_the_author_expects_changes_neither_prompt_nor_check(tmp_path):
    plain = load_task(write(tmp_path / "plain", GOOD))
    leaning = load_task(write(tmp_path / "leaning", GOOD | {"lean": "pwsh", "difficulty": "hard in bash"}))
    assert (plain.lean, plain.difficulty) == (None, None)
    assert (leaning.lean, leaning.difficulty) == ("pwsh", "hard in bash")
    assert (plain.prompt_sha256, plain.check_sha256) == (leaning.prompt_sha256, leaning.check_sha256)
    assert plain.sha256 != leaning.sha256


def test_a_folder_that_holds_no_task_is_named(tmp_path):
    folder = write(tmp_path / "odd", GOOD)
    for text in ("[1, 2]\n", "a: [\n"):
        (folder / "task.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=r"task\.yaml"):
            load_task(folder)
    with pytest.raises(UserError, match="the id is tree-size-bytes, the folder copied-task"):
        load_task(write(tmp_path, GOOD, folder="copied-task"))
    folder = write(tmp_path, GOOD, answer=None)
    with pytest.raises(UserError, match="the task has no answer") as caught:
        load_task(folder)
    assert caught.value.where == str(folder)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("def expected(world, processes):\n    return 1 / 0\n", "raised ZeroDivisionError"),
        ("def expected(world, processes):\n    return world.files['nowhere']\n", "raised KeyError"),
        ("def expect(world, processes):\n    return []\n", "cannot be loaded: AttributeError"),
        ("def expected(world, processes)\n", "cannot be loaded: SyntaxError"),
        ("import nowhere\n", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_an_answer_that_cannot_be_computed_names_its_file(tmp_path, answer, what):
    task = load_task(write(tmp_path, GOOD, answer=answer))
    with pytest.raises(UserError) as caught:
        task.expected(build_world(11))
    assert "answer.py" in caught.value.where
    assert what in caught.value.what


@pytest.mark.parametrize(
    ("fixture", "what"),
    [
        ("def extend(builder, rng):\n    raise RuntimeError('no')\n", "raised RuntimeError: no"),
        ("x = 1\n", "raised AttributeError"),
        ("def extend(builder, rng):\n    builder.file('Cargo.toml', 'x')\n", "one entry a path"),
    ],
)
def test_a_fixture_that_fails_names_its_file_or_the_world(tmp_path, fixture, what):
    folder = write(tmp_path, GOOD)
    (folder / "fixture.py").write_text(fixture, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        world_for(load_task(folder), 11)
    assert what in caught.value.what
    assert "world 11" in caught.value.where


def test_an_unknown_task_and_an_empty_bank_say_what_there_is(tmp_path):
    with pytest.raises(UserError) as caught:
        load_tasks(["tree-size"])
    assert "tree-size-bytes" in caught.value.hint
    with pytest.raises(UserError, match="there are no tasks"):
        load_tasks("all", tmp_path)


def test_a_tasks_own_fixture_changes_its_world_and_no_other(tmp_path):
    folder = write(tmp_path, GOOD)
    before = world_for(load_task(folder), 11)
    extend = "def extend(builder, rng):\n    builder.file('contracts/extra.json', str(rng.below(1000)))\n"
    (folder / "fixture.py").write_text(extend)
    after = world_for(load_task(folder), 11)
    assert before is build_world(11)
    assert set(after.files) - set(before.files) == {"contracts/extra.json"}
    assert after.sha256 != before.sha256
    assert world_for(load_task(folder), 11) is after
    assert build_world(11) is before


def test_an_answer_is_worked_out_once_a_world_and_handed_out_as_a_copy(tmp_path):
    answer = "calls = []\ndef expected(world, processes):\n    calls.append(world.seed)\n    return [len(calls)]\n"
    task = load_task(write(tmp_path, GOOD, answer=answer))
    task.expected(build_world(11)).append("spoilt")
    assert task.expected(build_world(11)) == [1]
    assert task.expected(build_world(24)) == [2]
    fact = ProcessFact(pid=1, name="a", ppid=0, rss_bytes=1, args=[])
    assert [task.expected(build_world(11), [fact]) for _ in range(2)] == [[3], [4]]
