"""docs/adding-a-task.md, followed command by command: its files make tasks that are proven sound."""

import re
import subprocess
from pathlib import Path

import pytest

from fluency.common.paths import ROOT
from fluency.core.task_world import world_for
from fluency.core.tasks import PRIVATE_TASKS_VARIABLE, load_tasks
from fluency.validation.new_task import main
from fluency.world import build_world

PAGE = (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.M | re.S)
NAME, SNAPSHOT = "shared-env-keys", "timeout-files"


def follow(folder: Path, run: str) -> str:
    """Write each named block of the page to its file, run those of this kind; what they print."""
    printed = ""
    for kind, name, text in BLOCK.findall(PAGE):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        elif kind == run:
            command = ["bash", "-euo", "pipefail", "-c", text]
            printed += subprocess.check_output(command, cwd=folder, text=True)
    return printed


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every named code block of the page was written to its file."""
    folder = tmp_path_factory.mktemp("page")
    follow(folder, "")
    return folder


def test_page_shows_the_answers(followed: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv(PRIVATE_TASKS_VARIABLE, str(followed / "tasks"))
    main(None, NAME, snapshot=False)
    printed = capsys.readouterr().out
    assert printed.replace(f"{PRIVATE_TASKS_VARIABLE}={followed}/tasks ", "") == (
        (followed / "answers.txt").read_text(encoding="utf-8")
    )


def test_further_task_leaves_other_worlds_alone(followed: Path) -> None:
    (added,) = load_tasks([NAME], root=followed / "tasks")
    brought = dict(world_for(added, 11).files.items() - build_world(11).files.items())
    names = ("local.env", "notes.txt", "production.env", "staging.env")
    assert sorted(brought) == [f"deploy/{name}" for name in names]
    for task in load_tasks():
        assert not brought.items() & world_for(task, 11).files.items(), task.id


@pytest.mark.slow
@pytest.mark.engine
def test_page_followed_in_fresh_clone(tmp_path: Path, sandbox) -> None:
    """From a transcript to two tasks that are sound, and a report on one of them."""
    clone, weights = tmp_path / "clone", ROOT / ".cache/weights"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    weights.mkdir(parents=True, exist_ok=True)  # half a gigabyte, fetched once
    (clone / ".cache").mkdir()
    (clone / ".cache/weights").symlink_to(weights)
    printed = follow(clone, "bash")
    for task in (NAME, SNAPSHOT):
        assert re.search(rf"^{task} +bash .* sound$", printed, re.M), printed
        assert not re.search(rf"^{task} .*UNSOUND", printed, re.M), printed
    assert (clone / "answers.txt").read_text() in printed
    assert "mutants" in printed and "0 mutants" not in printed
    assert "report.md" in printed
