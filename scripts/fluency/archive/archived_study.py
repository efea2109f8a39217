"""An unpacked archive as a study: tasks, worlds, records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml
from pydantic import Field

from fluency.archive.pack import STUDY_FILE
from fluency.archive.private_part import HELD_OUT, HiddenTasks, WorldHash
from fluency.archive.unpack import UnpackedArchive
from fluency.archive.untrusted_json import as_record, parse_record, parse_untrusted
from fluency.archive.world_files import WORLD_DOCUMENTS, WORLD_INDEX, load_world
from fluency.common.canonical import hashes_to
from fluency.common.errors import ArchiveError, UserError
from fluency.common.git import file_at, files_at, in_history
from fluency.core.held_out import HeldOutTask, public_tasks, task_files
from fluency.core.provenance import Provenance, read_provenance
from fluency.core.records import CONTROL_FILE, Control, ImageInfo
from fluency.core.schema import FrozenModel, RecordType
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, CellRecords, Row, cell_row, read_table
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_task, task_folder
from fluency.report.report import write_products
from fluency.world import World

if TYPE_CHECKING:
    import pandas as pd

MAX_YAML_BYTES = 256 << 10
MAX_YAML_DEPTH = 12
MAX_YAML_VALUES = 50_000
MAX_TASKS = 200
MAX_CELLS = 50_000
IMAGE_FILE = "results/image.json"
KEEP_BYTES = 96 << 20
"""Of records that are kept in memory; each comma and bracket counts as VALUE_BYTES more."""
VALUE_BYTES = 64
MAX_TREES, MAX_WORLD_DOCUMENTS = 256 << 20, 16 << 20
"""Bytes of all worlds' trees, and of their other documents: worlds are kept in memory."""
MAX_TABLE = 64 << 20
"""Characters of text in the rows of all cells."""


TEXT = "task.yaml"
"""The one file of a task that is data."""
Files = Mapping[str, bytes | None]
"""A task's files by name; None for one that the manifest names and the archive does not hold."""


class ImageFile(FrozenModel):
    """`results/image.json`."""

    image: ImageInfo
    engine: dict[str, Any] = Field(default_factory=dict)
    start_up_s: dict[str, float | None] = Field(default_factory=dict)


def read_archived_study(archive: UnpackedArchive) -> ArchivedStudy:
    """The archive's study and tasks; ArchiveError when they cannot be read or are not the manifest's."""
    value = parse_untrusted(archive.read(STUDY_FILE), STUDY_FILE)
    study = as_record(Study, value, STUDY_FILE)
    if not hashes_to(value, archive.manifest.study_sha256) or study.study != archive.manifest.study:
        raise ArchiveError("it is not the study whose hash the manifest states", where=STUDY_FILE)
    names = sorted(
        {name.split("/")[1] for name in archive.manifest.files if name.startswith("tasks/")}
    )
    if len(names) > MAX_TASKS:
        raise ArchiveError(f"it holds {len(names):,} tasks; {MAX_TASKS} are read", where=STUDY_FILE)
    size = len(names) * len(study.models) * len(study.shells) * study.trials
    if size > MAX_CELLS:
        raise ArchiveError(
            f"it is a study of {size:,} cells; {MAX_CELLS:,} are read", where=STUDY_FILE
        )
    hidden = (
        parse_record(HiddenTasks, archive.read(HELD_OUT), HELD_OUT)
        if archive.manifest.held_out
        else None
    )
    absent = {name.split("/")[1] for name in archive.absent if name.startswith("tasks/")}
    facts = {fact.id: fact for fact in hidden.tasks} if hidden else {}
    if unknown := absent - facts.keys():
        raise ArchiveError(f"it does not describe the task {min(unknown)}", where=HELD_OUT)
    tasks: list[Task | HeldOutTask] = [
        facts[name] if name in absent else _task(archive, name) for name in names
    ]
    if not isinstance(study.tasks, str) and set(study.tasks) != set(names):
        raise ArchiveError("the archived tasks are not those of the study", where=STUDY_FILE)
    runnable, text_changed = runnable_tasks(archive, tasks)
    tasks = [runnable.get(task.id, task) for task in tasks]
    return ArchivedStudy(archive, study, tasks, frozenset(runnable), text_changed, hidden)


def _task(archive: UnpackedArchive, name: str) -> Task:
    where = f"tasks/{name}/task.yaml"
    check_yaml(archive, where)
    try:
        return load_task((archive.root / where).parent)
    except UserError as error:
        raise ArchiveError(error.what, where=error.where.replace(f"{archive.root}/", "")) from None


def check_yaml(archive: UnpackedArchive, where: str) -> None:
    """ArchiveError for small files that take without end: aliases name endless content, nesting costs its square."""
    data, depth = archive.read(where), 0
    if len(data) > MAX_YAML_BYTES:
        raise ArchiveError(f"it is larger than {MAX_YAML_BYTES:,} bytes", where=where)
    try:
        for event in yaml.parse(data, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > MAX_YAML_DEPTH:
                raise ArchiveError(f"it nests deeper than {MAX_YAML_DEPTH} levels", where=where)
        nodes = [(0, yaml.compose(data, yaml.CSafeLoader))]
        for _ in range(MAX_YAML_VALUES):
            if not nodes:
                return
            depth, node = nodes.pop()
            if depth > MAX_YAML_DEPTH:
                raise ArchiveError(
                    f"its aliases nest deeper than {MAX_YAML_DEPTH} levels", where=where
                )
            if isinstance(node, yaml.MappingNode):
                nodes += [(depth + 1, part) for pair in node.value for part in pair]
            elif isinstance(node, yaml.SequenceNode):
                nodes += [(depth + 1, part) for part in node.value]
    except (yaml.YAMLError, RecursionError) as error:
        raise ArchiveError(f"it cannot be read: {type(error).__name__}", where=where) from None
    raise ArchiveError(f"it holds more than {MAX_YAML_VALUES:,} values", where=where)


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
        present: Files = (
            {name: path.read_bytes() for name, path in task_files(mine).items()} if mine else {}
        )
        if mine and theirs == present:
            runnable[task.id] = mine
        elif ancestor and theirs == _files_at(commit, task.id):
            runnable[task.id] = task
        elif (
            mine
            and {**theirs, TEXT: b""} == {**present, TEXT: b""}
            and _check(task) == _check(mine)
        ):
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
    return {
        name[len(start) :]: archive.read(name) if archive.holds(name) else None for name in names
    }


def _files_at(commit: str, task: str) -> Files:
    start = f"tasks/{task}/"
    return {name[len(start) :]: file_at(commit, name) for name in files_at(commit, f"tasks/{task}")}


def _check(task: Task) -> tuple[object, ...]:
    return task.structure, task.content, task.needs, task.category


@dataclass
class ArchivedStudy:
    """A readable archive. `tasks` are in the order of the table; `runnable` are those whose code may run,
    `text_changed` those of them whose text is not this project's. `hidden`: what replaces the private part's tasks.
    """

    unpacked: UnpackedArchive
    study: Study
    tasks: list[Task | HeldOutTask]
    runnable: frozenset[str]
    text_changed: frozenset[str] = frozenset()
    hidden: HiddenTasks | None = None
    _worlds: dict[str, World] = field(default_factory=dict)
    _kept: dict[Cell, CellRecords] = field(default_factory=dict)
    _kept_bytes: int = 0
    _in_rows: int = 0

    @property
    def root(self) -> Path:
        return self.unpacked.root

    @property
    def products(self) -> Path:
        """The study's table, report, figures and explorer."""
        return self.root / "results" / self.study.study

    @cached_property
    def shown_tasks(self) -> dict[str, Task | HeldOutTask]:
        """By id, the tasks as table, report and explorer know them: private ones without their texts."""
        return {task.id: task for task in public_tasks(self.tasks, self.study)}

    @cached_property
    def open_tasks(self) -> dict[str, Task]:
        """By id, the tasks whose files are here; of the others the archive holds nothing but hashes and rows."""
        return {task.id: task for task in self.tasks if isinstance(task, Task)}

    @cached_property
    def declared_rows(self) -> dict[Cell, Row]:
        """The row of each cell of a private task, as held_out.json has it."""
        rows = self.hidden.rows if self.hidden else []
        return {Cell(row.model, row.shell, row.task, row.trial): row for row in rows}

    @cached_property
    def cells(self) -> list[Cell]:
        return list(self.study.cells([task.id for task in self.tasks]))

    @cached_property
    def index(self) -> dict[str, dict[str, str]]:
        """Task -> seed -> folder of the world."""
        value = parse_untrusted(self.unpacked.read(WORLD_INDEX), WORLD_INDEX)
        seeds = {str(seed) for seed in self.study.seeds}
        if not isinstance(value, dict) or set(value) != {task.id for task in self.tasks}:
            raise ArchiveError(
                "it does not name the worlds of exactly the study's tasks", where=WORLD_INDEX
            )
        for task, worlds in value.items():
            where = f"{WORLD_INDEX}: {task}"
            if not isinstance(worlds, dict) or set(worlds) != seeds:
                raise ArchiveError(
                    "it does not name a world for each of the study's seeds", where=where
                )
            if any(
                f"{folder}/tree.tar" not in self.unpacked.manifest.files
                for folder in worlds.values()
            ):
                raise ArchiveError("it names a world that the archive does not hold", where=where)
        folders = {folder for worlds in value.values() for folder in worlds.values()}
        for name, most in (
            {"tree.tar": MAX_TREES} | dict.fromkeys(WORLD_DOCUMENTS, MAX_WORLD_DOCUMENTS)
        ).items():
            paths = (self.root / folder / name for folder in folders)
            if (size := sum(path.stat().st_size for path in paths if path.is_file())) > most:
                raise ArchiveError(
                    f"the worlds' {name} hold {size:,} bytes; {most:,} are read", where=WORLD_INDEX
                )
        return value

    @cached_property
    def image_file(self) -> ImageFile | None:
        return self._record(ImageFile, IMAGE_FILE)

    @cached_property
    def control(self) -> Control | None:
        name = f"results/{self.study.study}/{CONTROL_FILE}"
        return self._record(Control, name) if self.study.control else None

    def world(self, task: Task | HeldOutTask, seed: int) -> World:
        """The archived world of a task, checked against its own hash."""
        folder = self.index[task.id][str(seed)]
        if folder not in self._worlds:
            ours = None
            with suppress(UserError):  # `same_worlds` names it
                ours = (
                    world_for(task, seed)
                    if isinstance(task, Task) and task.id in self.runnable
                    else None
                )
            self._worlds[folder] = load_world(self.root, folder, ours)
        return self._worlds[folder]

    def world_or_hash(self, task: Task | HeldOutTask, seed: int) -> World | WorldHash:
        """The world of a task, or its hash where the task is held out."""
        if task.id in self.open_tasks:
            return self.world(task, seed)
        stated = self.hidden.worlds.get(task.id, {}).get(str(seed)) if self.hidden else None
        if stated is None:
            raise ArchiveError(f"it states no world {seed} of {task.id}", where=HELD_OUT)
        return stated

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records; ArchiveError names a file that is no record of a schema this version knows."""
        if cell in self._kept:
            return self._kept[cell]
        parts = [
            self._record(kind, f"results/{stage}/{cell.path}.json")
            for stage, kind in RECORD_TYPES.items()
        ]
        records = CellRecords(*cast(Any, parts))
        if self._kept_bytes <= KEEP_BYTES:
            self._kept[cell] = records
        return records

    def _record(self, kind: type[RecordType], where: str) -> RecordType | None:
        if not self.unpacked.holds(where):
            return None
        data = self.unpacked.read(where)
        self._kept_bytes += len(data) + VALUE_BYTES * (data.count(b",") + data.count(b"["))
        return parse_record(kind, data, where)

    def row(self, cell: Cell, records: CellRecords) -> Row:
        """A cell's row; ArchiveError once the rows hold more text than a table that can be read."""
        if cell.task not in self.open_tasks:
            if cell not in self.declared_rows:
                raise ArchiveError(
                    "it states no row of this cell", where=f"{HELD_OUT}: {cell.path}"
                )
            row = self.declared_rows[cell]
        else:
            row = cell_row(cell, self.shown_tasks[cell.task], records)
        self._in_rows += sum(len(value) for value in dict(row).values() if isinstance(value, str))
        if self._in_rows > MAX_TABLE:
            raise ArchiveError(
                f"the rows of its cells hold more than {MAX_TABLE:,} characters", where=cell.path
            )
        return row

    def table(self) -> pd.DataFrame:
        """The archived table; UserError where there is none."""
        path = self.products / "cells.csv"
        if not path.is_file():
            where = str(self.unpacked.path)
            raise UserError(
                "the archive holds no table", where=where, hint="archive the finished study"
            )
        return read_table(path)

    def view(self, provenance: Provenance | None = None) -> StudyView:
        """The archived study as it may be shown."""
        return StudyView(
            self.study,
            list(self.shown_tasks.values()),
            self.cells,
            self.records,
            row=lambda cell: self.row(cell, self.records(cell)),
            provenance=provenance or Provenance(),
            control=self.control,
        )


def same_worlds(archived: ArchivedStudy, task: Task) -> bool:
    """Whether this checkout's generator makes the worlds that were archived; asked of runnable tasks only."""
    return all(
        world_for(task, seed).sha256 == archived.world(task, seed).sha256
        for seed in archived.study.seeds
    )


def write_opened(archived: ArchivedStudy, folder: Path) -> tuple[Path, Path]:
    """Write the report with its figures and the explorer into a folder, and return both paths.

    Nothing is rescored: the words are this checkout's, the numbers follow from the archived table.
    """
    table = archived.table()
    write_products(
        archived.view(read_provenance(archived.products / "provenance.json")), table, folder
    )
    return folder / "report.md", folder / "explorer.html"
