"""Which of an archive's tasks may be run: those whose code is this project's, now or at the archive's commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fluency.archive.unpack import UnpackedArchive
from fluency.common.git import file_at, files_at, in_history
from fluency.core.held_out import HeldOutTask, task_files
from fluency.core.tasks import Task, load_task, task_folder

TEXT = "task.yaml"
"""The one file of a task that is data."""
Files = Mapping[str, bytes | None]
"""A task's files by name; None for one that the manifest names and the archive does not hold."""


def runnable_tasks(
    archive: UnpackedArchive, tasks: Sequence[Task | HeldOutTask]
) -> tuple[dict[str, Task], frozenset[str]]:
    """The tasks whose code may run, by id, and which of those have another text than this project's.

    A task of which all files are the checkout's is the checkout's own. Otherwise its code is the project's if all of
    its files are those of the archive's commit, and that commit is in this checkout's history; or if they are the
    checkout's but for the task's text, and the text states the same check.
    """
    ours, commit = present_tasks([task.id for task in tasks]), archive.manifest.commit
    ancestor = in_history(commit)
    runnable, text_changed = dict[str, Task](), set[str]()
    for task in tasks:
        if isinstance(task, HeldOutTask):
            continue
        theirs, mine = _files_in(archive, task.id), ours.get(task.id)
        present: Files = {name: path.read_bytes() for name, path in task_files(mine).items()} if mine else {}
        if mine and theirs == present:
            runnable[task.id] = mine
        elif ancestor and theirs == _files_at(commit, task.id):
            runnable[task.id] = task
        elif mine and {**theirs, TEXT: b""} == {**present, TEXT: b""} and _check(task) == _check(mine):
            runnable[task.id] = task
            text_changed.add(task.id)
    return runnable, frozenset(text_changed)


def present_tasks(ids: Iterable[str]) -> dict[str, Task]:
    """Those of the tasks that this checkout has too, or its private folder, as they are here."""
    folders = {name: task_folder(name) for name in ids}
    return {name: load_task(folder) for name, folder in folders.items() if folder}


def _files_in(archive: UnpackedArchive, task: str) -> Files:
    start = f"tasks/{task}/"
    names = [name for name in archive.manifest.files if name.startswith(start)]
    return {name[len(start) :]: archive.read(name) if archive.holds(name) else None for name in names}


def _files_at(commit: str, task: str) -> Files:
    start = f"tasks/{task}/"
    return {name[len(start) :]: file_at(commit, name) for name in files_at(commit, f"tasks/{task}")}


def _check(task: Task) -> tuple[object, ...]:
    return task.structure, task.content, task.needs, task.category
