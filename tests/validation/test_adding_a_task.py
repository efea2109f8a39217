"""docs/adding-a-task.md, followed word by word: its files make a task that is proven sound."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fluency.common.paths import ROOT
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.validation.validate import validate
from fluency.world import build_world

PAGE = (ROOT / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```\w+ title="(\S+)"\n(.*?)^```$', re.M | re.S)
NAME = "shared-env-keys"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every named code block of the page was written to its file."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in BLOCK.findall(PAGE):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_page_shows_the_answers(followed: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "scripts")}
    command = [sys.executable, "look.py"]
    printed = subprocess.check_output(command, cwd=followed, env=environ, text=True)
    assert printed == (followed / "look.txt").read_text(encoding="utf-8")
    assert printed.count("\n") == 2


def test_further_task_leaves_other_worlds_alone(followed: Path) -> None:
    (added,) = load_tasks(root=followed / "tasks")
    brought = dict(world_for(added, 11).files.items() - build_world(11).files.items())
    names = ("local.env", "notes.txt", "production.env", "staging.env")
    assert sorted(brought) == [f"deploy/{name}" for name in names]
    for task in load_tasks():
        assert not brought.items() & world_for(task, 11).files.items(), task.id


@pytest.mark.engine
def test_page_task_is_sound(followed: Path, sandbox) -> None:
    report = validate([NAME], (11, 24), sandbox, repeats=4, root=followed / "tasks")
    assert report.sound, report.text()
    assert {row[-1] for row in report.rows} in ({"sound"}, {"sound", "not validated"})
