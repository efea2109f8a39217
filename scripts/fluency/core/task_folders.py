"""Where tasks live: the bank of the project, and beside it a folder of private tasks that is none of the project's."""

from __future__ import annotations

import os
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.paths import ROOT, TASKS

VARIABLE = "TASKS_PRIVATE"
"""Environment variable that names the folder of private tasks."""


def private_folder() -> Path | None:
    """The folder of private tasks, absolute; None where none is named. UserError for one that cannot be it."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        hint = f"name the folder that holds the private tasks, or leave {VARIABLE} out"
        raise UserError("there is no such folder of private tasks", where=f"{VARIABLE}={named}", hint=hint)
    if folder.resolve().is_relative_to(ROOT):
        hint = "move it out of the project, whose files are published"
        raise UserError("the folder of private tasks lies inside the project", where=f"{VARIABLE}={named}", hint=hint)
    return folder


def task_folders(root: Path = TASKS) -> dict[str, Path]:
    """The folder of each task by its name, in their order; those of the private folder belong to the project's bank.

    Every folder is a task, so that none vanishes unnoticed with its task.yaml; hidden ones and `__pycache__` are none.
    """
    found = _in(Path(root))
    if not found:
        raise UserError("there are no tasks", where=str(root), hint="restore the tasks/ folder")
    hidden = private_folder() if Path(root) == TASKS else None
    private = _in(hidden) if hidden else {}
    for name in sorted(found.keys() & private.keys()):
        raise UserError(
            "a private task has the id of a task of the project",
            where=str(private[name]),
            hint="give it another id: its folder's name, and `id:` in its task.yaml",
        )
    return dict(sorted((found | private).items()))


def folder_of(task_id: str) -> Path | None:
    """The folder of a task of the bank or of the private folder; None where neither has it."""
    private = private_folder()
    folders = [folder / task_id for folder in (TASKS, *([private] if private else [])) if (folder / task_id).is_dir()]
    return folders[0] if folders else None


def text_of(folder: Path) -> Path:
    """A task's task.yaml; UserError where the folder holds none."""
    path = folder / "task.yaml"
    if not path.is_file():
        hint = "restore the file, or remove the folder; docs/adding-a-task.md says what a task is"
        raise UserError("this task folder holds no task.yaml", where=str(folder), hint=hint)
    return path


def _in(root: Path) -> dict[str, Path]:
    folders = {path.name: path for path in sorted(root.glob("[!._]*/"))}
    for folder in folders.values():
        text_of(folder)
    return folders
