"""What is published of a private task: its id, its kind and its hashes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from fluency.common.canonical import canonical_json
from fluency.common.files import plain_files, sha256, sha256_file
from fluency.core.schema import Digest, FrozenModel
from fluency.core.study import Study
from fluency.core.tasks import Category, Task

HELD_OUT_TEXT = "(held out)"
"""In place of a text of a private task's cell."""


class HeldOutTask(FrozenModel):
    """All that is published of a private task."""

    private: ClassVar[Literal[True]] = True

    id: str
    version: int
    category: Category
    provenance: Literal["design", "allowlist", "written"]
    lean: str | None
    sha256: Digest
    prompt_sha256: Digest
    check_sha256: Digest
    folder_sha256: Digest

    @classmethod
    def of(cls, task: Task | HeldOutTask) -> HeldOutTask:
        names = cls.model_fields.keys() - {"folder_sha256"}
        return cls(
            **{name: getattr(task, name) for name in names}, folder_sha256=folder_sha256(task)
        )


def folder_sha256(task: Task | HeldOutTask) -> str:
    """SHA-256 over the names and contents of all files of a task's folder."""
    if isinstance(task, HeldOutTask):
        return task.folder_sha256
    return sha256(
        canonical_json({name: sha256_file(path) for name, path in task_files(task).items()})
    )


def task_files(task: Task) -> dict[str, Path]:
    """The plain files of a task's folder by their names in it."""
    return {path.relative_to(task.folder).as_posix(): path for path in plain_files(task.folder)}


def public_tasks(tasks: Sequence[Task | HeldOutTask], study: Study) -> list[Task | HeldOutTask]:
    """The tasks for table, report and explorer: private ones held out, unless the study shows them."""
    return [
        HeldOutTask.of(task) if task.private and not study.show_private else task for task in tasks
    ]
