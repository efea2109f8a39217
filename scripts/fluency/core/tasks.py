"""The task bank: one folder a task, `task.yaml` and `answer.py`, both validated when they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.common.paths import TASKS
from fluency.common.source_file import run_source
from fluency.core.config_files import explain, read_yaml
from fluency.core.part import Part
from fluency.core.shells import DESIGN, ShellName
from fluency.core.task_folders import VARIABLE, task_folders, text_of
from fluency.core.task_sets import ALL, ids_wanted

if TYPE_CHECKING:
    from fluency.core.records import ProcessFact
    from fluency.world import World

Category = Literal["file-inspection", "text-processing", "process-introspection", "network-fetch"]
NEUTRAL = "neutral"
CATEGORIES: tuple[Category, ...] = ("file-inspection", "text-processing", "process-introspection", "network-fetch")


class Structure(Part):
    """The design's structural check: every line matches, or the text is JSON of a shape."""

    line: str | None = Field(None, description="A regular expression every output line matches.")
    lines: Literal["at-least-one", "exactly-one"] = "at-least-one"
    json_shape: Literal["array-of-objects", "array", "object"] | None = None

    @field_validator("line")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"not a regular expression: {error}") from None
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Structure:
        if (self.line is None) == (self.json_shape is None):
            raise ValueError("state either `line` or `json_shape`")
        return self


class Task(Part):
    """One task as its author wrote it."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    version: int = Field(1, ge=1)
    private: bool = Field(False, description="Kept outside the project, and shown by id and hash only.")
    category: Category
    provenance: Literal["design", "allowlist", "written"]
    provenance_note: str
    needs: list[Literal["processes", "http"]] = Field(default_factory=list, description="Beside the tree.")
    prompt: str = Field(min_length=20)
    structure: Structure
    content: Literal["set", "ordered", "paths", "keyed", "jsonset", "json", "hex"]
    fixture: str
    fairness: str
    lean: str | None = Field(None, description="The shell its author expects to find it easier, or `neutral`.")
    difficulty: str | None = Field(None, description="How hard its author thinks it is, in words.")
    references: dict[ShellName, list[str]]
    wrong: dict[ShellName, list[str]]

    _folder: Path = PrivateAttr()
    _known: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("references", "wrong")
    @classmethod
    def _both_shells(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        for shell in DESIGN:
            if not value.get(shell):
                raise ValueError(f"at least one command for {shell} is needed")
        return value

    @field_validator("lean")
    @classmethod
    def _known_lean(cls, value: str | None) -> str | None:
        if value not in (None, NEUTRAL, *DESIGN):
            raise ValueError(f"the lean is one of {', '.join((*DESIGN, NEUTRAL))}")
        return value

    @property
    def folder(self) -> Path:
        """Where the task lives."""
        return self._folder

    @cached_property
    def prompt_sha256(self) -> str:
        """Changes only when the model would be asked something else."""
        return sha256(self.prompt)

    @cached_property
    def check_sha256(self) -> str:
        """Changes only when the judgement could."""
        rule = canonical_json({"structure": self.structure.model_dump(), "content": self.content})
        return sha256(rule + (self.folder / "answer.py").read_text(encoding="utf-8"))

    @cached_property
    def sha256(self) -> str:
        """Of everything in the task's two files."""
        return sha256((self.folder / "task.yaml").read_bytes() + b"\0" + (self.folder / "answer.py").read_bytes())

    @cached_property
    def _answer(self) -> Any:
        path = self.folder / "answer.py"
        try:
            return run_source(path).expected
        except Exception as error:
            raise UserError(
                f"the task's answer cannot be loaded: {type(error).__name__}: {error}",
                where=str(path),
                hint="define `expected(world, processes)`; see docs/adding-a-task.md",
            ) from error

    def expected(self, world: World, processes: Sequence[ProcessFact] = ()) -> Any:
        """The right answer in a finished world, as JSON-ready data in the form the content rule takes.

        It is worked out once a world, unless it depends on processes too.
        """
        if processes:
            return self._worked_out(world, processes)
        if world.sha256 not in self._known:
            self._known[world.sha256] = self._worked_out(world, ())
        return deepcopy(self._known[world.sha256])

    def _worked_out(self, world: World, processes: Sequence[ProcessFact]) -> Any:
        try:
            return self._answer(world, processes)
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"the task's answer function raised {type(error).__name__}: {error}",
                where=f"{self.folder / 'answer.py'} (world {world.seed})",
                hint=f"run `make validate TASK={self.id}`",
            ) from error


def load_task(folder: Path) -> Task:
    """One task; UserError names the file and the key that is wrong."""
    path = text_of(Path(folder))
    values = read_yaml(path)
    try:
        task = Task.model_validate(values)
    except ValidationError as error:
        raise explain(error, [path]) from None
    if task.id != path.parent.name:
        raise UserError(
            f"the id is {task.id}, the folder {path.parent.name}",
            where=f"{path}: id",
            hint="give the folder the task's id; two tasks cannot share one",
        )
    if task.private and path.parent.resolve().is_relative_to(TASKS):
        hint = f"keep it in a folder outside the project, and name that one: {VARIABLE}=…; or take `private` out"
        raise UserError("a private task stands in the project, whose files are published", where=str(path), hint=hint)
    if not (path.parent / "answer.py").is_file():
        raise UserError("the task has no answer", where=str(path.parent), hint="see docs/adding-a-task.md")
    task._folder = path.parent
    return task


def load_tasks(wanted: str | Sequence[str] = ALL, root: Path = TASKS) -> list[Task]:
    """The tasks of a study in the order of their ids, private ones among them; UserError if one is unknown.

    `wanted` is `all`, a set's name, or ids.
    """
    folders = task_folders(root)
    chosen = set(ids_wanted(wanted, folders, root))
    tasks = [load_task(folder) for name, folder in folders.items() if name in chosen]
    for task in tasks:
        if not task.private and task.folder.parent != Path(root):
            hint = "write `private: true` into it, so that nothing of the task is published by mistake"
            raise UserError("a private task does not say that it is one", where=f"{task.folder}/task.yaml", hint=hint)
    return tasks
