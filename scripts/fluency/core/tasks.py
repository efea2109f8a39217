"""The task bank: a folder a task, with `task.yaml` and its answers; and sets of tasks.

Private tasks are in a folder outside the project.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError, did_you_mean
from fluency.common.files import JsonObject, plain_files, sha256
from fluency.common.paths import TASKS
from fluency.core.config_files import banks, config_error, read_yaml
from fluency.core.schema import Entries, FrozenModel
from fluency.core.shells import DESIGN_SHELLS, ShellName, one_of

if TYPE_CHECKING:
    from fluency.core.records import ProcessFact
    from fluency.world import World

PRIVATE_TASKS_VARIABLE = "TASKS_PRIVATE"
"""Environment variable that names the folder of private tasks."""
PAGE = "docs/adding-a-task.md"
"""For hints."""
MISSING = "MISSING:"
"""Begins what a new task's author is still to write."""


def task_folders() -> dict[str, Path]:
    """Task -> its folder, in the order of names, private tasks included.

    Every folder but hidden ones and `__pycache__` is a task, so that a lost task.yaml is noticed.
    """
    found: dict[str, Path] = {}
    for bank in banks(TASKS, PRIVATE_TASKS_VARIABLE):
        for folder in bank.glob("[!._]*/"):
            if found.setdefault(folder.name, folder) is not folder:
                raise UserError(
                    "a private task has the id of a task of the project",
                    where=folder,
                    hint="give it another id: its folder's name, and `id:` in its task.yaml",
                )
    if not found:
        raise UserError("no tasks here", where=TASKS, hint="restore the tasks/ folder")
    return dict(sorted(found.items()))


SETS = "sets.yaml"
ALL = "all"


class TaskSet(FrozenModel):
    """One entry of `tasks/sets.yaml`."""

    description: str
    tasks: Entries[str]


_SETS = TypeAdapter(dict[str, TaskSet])


def task_sets() -> dict[str, TaskSet]:
    """The sets by name; none where the bank has no such file."""
    path = TASKS / SETS
    if not path.is_file():
        return {}
    try:
        return _SETS.validate_python(read_yaml(path))
    except ValidationError as error:
        raise config_error(error, [path], TaskSet, PAGE) from None


def set_name(ids: Collection[str]) -> str:
    """The name of the set of exactly these tasks; empty if no set has them."""
    return next((name for name, found in task_sets().items() if set(found.tasks) == set(ids)), "")


def run_python_file(path: Path) -> ModuleType:
    """A Python file as a module; its exceptions are not caught."""
    module = ModuleType(f"{path.parent.name}.{path.stem}")
    module.__file__ = str(path)
    exec(_compiled(path.read_bytes(), str(path)), module.__dict__)
    return module


_compiled = lru_cache(maxsize=512)(partial(compile, mode="exec"))
"""A fixture runs once a world."""


@contextmanager
def author_code(path: Path, seed: int, defines: str) -> Iterator[None]:
    """Run a Python file of a task in the block; what it raises is a UserError.

    Args:
        seed: of the world it is run for.
        defines: the function that the file must define.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"the task's {path.stem} raised {type(error).__name__}: {error}",
            where=f"{path} (world {seed})",
            hint=f"define `{defines}`, and run `make validate TASK={path.parent.name}`; see {PAGE}",
        ) from error


Category = Literal["file-inspection", "text-processing", "process-introspection", "network-fetch"]
NEUTRAL = "neutral"
CATEGORIES: tuple[Category, ...] = get_args(Category)


PARITIES = ("even", "odd")
"""Of a world's seed; a snapshot task has files for each."""


class Structure(FrozenModel):
    """The structural check: every line matches, or the output is JSON of a shape."""

    line: str | None = None
    """A regular expression that every line matches."""
    lines: Literal["at-least-one", "exactly-one"] = "at-least-one"
    json_shape: Literal["array-of-objects", "array", "object"] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Structure:
        if (self.line is None) == (self.json_shape is None):
            raise ValueError("state either `line` or `json_shape`")
        return self


TASK_ID = r"^[a-z0-9][a-z0-9-]{0,60}$"
Content = Literal["set", "ordered", "paths", "keyed", "jsonset", "json", "hex"]


class Task(FrozenModel):
    """One task as its author wrote it."""

    id: str = Field(pattern=TASK_ID)
    version: int = Field(1, ge=1)
    category: Category
    provenance: Literal["design", "allowlist", "written", "transcript"]
    provenance_note: str
    needs: list[Literal["processes", "http"]] = []
    """Beside the tree."""
    prompt: str = Field(min_length=20)
    structure: Structure | None = None
    """Without it no output is asked for, and `answer.py` must define `state`."""
    content: Content | None = None
    fixture: str
    fairness: str
    lean: Annotated[str, one_of((*DESIGN_SHELLS, NEUTRAL), "lean")] | None = None
    """The shell its author expects to find it easier, or `neutral`."""
    difficulty: str | None = None
    """How hard its author thinks it is, in words."""
    references: dict[ShellName, list[str]]
    wrong: dict[ShellName, list[str]]

    _folder: Path
    _known: JsonObject = {}

    @field_validator("references", "wrong")
    @classmethod
    def _design_shells(cls, value: dict[str, list[str]]) -> dict[str, list[str]]:
        for shell in DESIGN_SHELLS:
            if not value.get(shell):
                raise ValueError(f"at least one command for {shell} is needed")
        return value

    @model_validator(mode="after")
    def _output_or_none(self) -> Task:
        if (self.structure is None) != (self.content is None):
            raise ValueError("state both `structure` and `content`, or none of them")
        return self

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def private(self) -> bool:
        """Whether it is kept outside the project."""
        return not self._folder.is_relative_to(TASKS)

    @cached_property
    def prompt_sha256(self) -> str:
        return sha256(self.prompt)

    @cached_property
    def check_sha256(self) -> str:
        """Of what judges an answer."""
        rule = canonical_json(self.model_dump(include={"structure", "content"}))
        return sha256(rule.encode() + self._answers)

    @cached_property
    def sha256(self) -> str:
        """Of the task's files, except its worlds."""
        return sha256((self.folder / "task.yaml").read_bytes() + b"\0" + self._answers)

    @cached_property
    def worlds_sha256(self) -> str:
        """Of the task's files from which its worlds are built."""
        return sha256(self._content(["fixture.py", *(f"world-{one}" for one in PARITIES)]))

    @property
    def is_snapshot(self) -> bool:
        """Whether its worlds and answers are files, not code."""
        return not (self.folder / "answer.py").exists()

    @property
    def _answers(self) -> bytes:
        if not self.is_snapshot:
            return (self.folder / "answer.py").read_bytes()
        return self._content(snapshot_answers(self.structure is None))

    def _content(self, names: Iterable[str]) -> bytes:
        """The names and bytes of the files, and of those in folders, that exist."""
        files = [
            path
            for one in map(self.folder.joinpath, names)
            for path in (plain_files(one) if one.is_dir() else [one])
            if path.exists()
        ]
        return b"\0".join(
            str(path.relative_to(self.folder)).encode() + path.read_bytes() for path in files
        )

    @cached_property
    def _module(self) -> ModuleType:
        return run_python_file(self.folder / "answer.py")

    @cached_property
    def _answer(self) -> Any:
        if not self.is_snapshot:
            return self._module.expected
        texts = [(self.folder / name).read_text("utf-8") for name in snapshot_answers()]
        read = json.loads if self.content and self.content.startswith("json") else str.splitlines
        return lambda world, _: read(texts[world.seed % 2])

    def expected(self, world: World, processes: Sequence[ProcessFact] = ()) -> Any:
        """The right answer in a world, as JSON data in the form of the content rule.

        None if no output is asked for. It is computed once for a world, but again for each list of
        processes.
        """
        if self.structure is None:
            return None
        known = {} if processes else self._known
        if world.sha256 not in known:
            with author_code(self.folder / "answer.py", world.seed, "expected(world, processes)"):
                known[world.sha256] = self._answer(world, processes)
        return deepcopy(known[world.sha256])

    def state(self, world: World, processes: Sequence[ProcessFact] = ()) -> JsonObject:
        """What must be left behind, as in `scoring.state.Expected`; empty if nothing is asked."""
        with author_code(self.folder / "answer.py", world.seed, "state(world, processes)"):
            if self.structure and (self.is_snapshot or not hasattr(self._module, "state")):
                return {}
            state = self._after if self.is_snapshot else self._module.state
            return {
                path: {"sha256": sha256(wanted)} if isinstance(wanted, bytes) else wanted
                for path, wanted in state(world, processes).items()
            }

    def _after(self, world: World, _: object) -> JsonObject:
        """Exactly the files of a snapshot's folder, except for those added next to its folders."""
        folder = self.folder / list(snapshot_answers(changes=True))[world.seed % 2]
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in plain_files(folder)
        }
        tops = {path.partition("/")[0] for path in files if "/" in path}
        below = {
            top: {"files": [path[len(top) + 1 :] for path in files if path.startswith(f"{top}/")]}
            for top in tops
        }
        return dict.fromkeys(world.files) | files | below


def snapshot_answers(changes: bool = False) -> list[str]:
    """What a snapshot task has next to its worlds: texts, or folders if it `changes` files."""
    return [f"after-{one}" if changes else f"expected-{one}.txt" for one in PARITIES]


def load_task(folder: Path) -> Task:
    """One task; UserError names the file and the key."""
    task = read_task(folder)
    try:
        re.compile(task.structure.line or "" if task.structure else "")
    except re.error as error:
        raise UserError(
            f"not a regular expression: {error}",
            where=f"{task.folder / 'task.yaml'}: structure.line",
            hint=f"mend the pattern; {PAGE} says what a task is",
        ) from None
    return task


def read_task(folder: Path) -> Task:
    """A task as `load_task` reads it, but with any pattern: compiling one may take minutes."""
    path = folder / "task.yaml"
    if path.is_file() and MISSING in path.read_text(encoding="utf-8", errors="replace"):
        hint = f"`make new-task NAME={folder.name}` lists what is missing"
        raise UserError("the task is not finished", where=path, hint=hint)
    try:
        task = Task.model_validate(read_yaml(path))
    except ValidationError as error:
        raise config_error(error, [path], Task, PAGE) from None
    if task.id != folder.name:
        raise UserError(
            f"the id is {task.id}, the folder {folder.name}",
            where=f"{path}: id",
            hint="give the folder the task's id",
        )
    needed = [f"world-{one}" for one in PARITIES] + snapshot_answers(task.structure is None)
    lacking = [name for name in needed if not (folder / name).exists()]
    if not (folder / "answer.py").is_file() and lacking:
        what = f"the task has no answer: neither answer.py nor {', '.join(lacking)}"
        raise UserError(what, where=folder, hint=f"see {PAGE}")
    task._folder = folder
    return task


def load_tasks(wanted: str | Sequence[str] = ALL) -> list[Task]:
    """Tasks in the order of their ids, private ones included.

    wanted: `all`, a set's name, or ids.
    """
    folders, where = task_folders(), "tasks"
    if isinstance(wanted, str):
        where = f"tasks: {wanted}"
        sets = {name: found.tasks for name, found in task_sets().items()} | {ALL: list(folders)}
        if wanted not in sets:
            hint = (
                f"{did_you_mean(wanted, sets)}; tasks by id are a list, as in `tasks: [one, two]`"
            )
            raise UserError("unknown set of tasks", where=where, hint=hint)
        wanted = sets[wanted]
    for name in wanted:
        if name not in folders:
            hint = did_you_mean(name, folders)
            if not os.environ.get(PRIVATE_TASKS_VARIABLE):
                hint += f"; a private task needs {PRIVATE_TASKS_VARIABLE}=its folder's folder"
            raise UserError("no such task", where=f"{where}: {name}", hint=hint)
    return [load_task(folder) for name, folder in folders.items() if name in wanted]
