"""What is published of a private task: its id, its kind and its hashes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import PrivateAttr

from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import plain_files, sha256, sha256_file
from fluency.core.schema import Digest, FrozenModel
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Study
from fluency.core.tasks import Category, Structure, Task

HELD_OUT_TEXT = "(held out)"
"""Stands where a text of a private task's cell would."""


class HeldOutFacts(FrozenModel):
    """All that is published of a private task."""

    id: str
    version: int
    category: Category
    provenance: Literal["design", "allowlist", "written"]
    lean: str | None
    sha256: Digest
    prompt_sha256: Digest
    check_sha256: Digest
    folder_sha256: Digest


class HeldOutTask(Task):
    """A private task without its texts, whose hashes are stated instead of computed."""

    _facts: HeldOutFacts = PrivateAttr()

    @classmethod
    def of(cls, facts: HeldOutFacts) -> HeldOutTask:
        """The task of these facts."""
        shown = facts.model_dump(include={"id", "version", "category", "provenance", "lean"})
        texts = dict.fromkeys(("provenance_note", "fixture", "fairness"), HELD_OUT_TEXT)
        commands = {shell: [HELD_OUT_TEXT] for shell in DESIGN_SHELLS}
        task = cls(
            **shown,
            **texts,
            private=True,
            prompt=HELD_OUT_TEXT.ljust(20),
            structure=Structure(line=""),
            content="set",
            references=commands,
            wrong=commands,
        )
        task._facts = facts
        return task

    @property
    def folder(self) -> Path:
        """There is none; UserError."""
        raise _held_out(self)

    @property
    def facts(self) -> HeldOutFacts:
        """What is known of it."""
        return self._facts

    @cached_property
    def prompt_sha256(self) -> str:
        """As stated."""
        return self._facts.prompt_sha256

    @cached_property
    def check_sha256(self) -> str:
        """As stated."""
        return self._facts.check_sha256

    @cached_property
    def sha256(self) -> str:
        """As stated."""
        return self._facts.sha256

    def expected(self, *_: Any) -> Any:
        """Nobody can tell; UserError."""
        raise _held_out(self)


def _held_out(task: Task) -> UserError:
    return UserError("the task is held out", where=task.id, hint="name the folder that holds it: TASKS_PRIVATE=…")


def facts_of(task: Task) -> HeldOutFacts:
    """What is published of a task."""
    if isinstance(task, HeldOutTask):
        return task.facts
    names = ("id", "version", "category", "provenance", "lean", "sha256", "prompt_sha256", "check_sha256")
    return HeldOutFacts(**{name: getattr(task, name) for name in names}, folder_sha256=folder_sha256(task))


def folder_sha256(task: Task) -> str:
    """Over the names and contents of all files of a task's folder, its fixture too."""
    if isinstance(task, HeldOutTask):
        return task.facts.folder_sha256
    return sha256(canonical_json({name: sha256_file(path) for name, path in task_files(task).items()}))


def task_files(task: Task) -> dict[str, Path]:
    """The plain files of a task's folder by their names in it."""
    return {path.relative_to(task.folder).as_posix(): path for path in plain_files(task.folder)}


def public_tasks(tasks: Sequence[Task], study: Study) -> list[Task]:
    """The tasks as table, report and explorer may know them: private ones held out, unless the study shows them."""
    if study.show_private:
        return list(tasks)
    return [HeldOutTask.of(facts_of(task)) if task.private else task for task in tasks]
