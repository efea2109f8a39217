"""An unpacked archive as a study: tasks, worlds, records."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from fluency.archive.pack import STUDY_FILE
from fluency.archive.private_part import HELD_OUT, Hashed, HeldOut, read_held_out
from fluency.archive.task_trust import trusted_tasks
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.archive.untrusted_json import strict_record, untrusted_json
from fluency.archive.world_files import WORLD_DOCUMENTS, WORLD_INDEX, load_world
from fluency.common.canonical import hashes_to
from fluency.common.errors import ArchiveError, UserError
from fluency.core.held_out import HeldOutTask, public_tasks
from fluency.core.provenance import Provenance, read_provenance
from fluency.core.records import Execution, Generation, ImageInfo, Score, read_control
from fluency.core.schema import FrozenModel, RecordType, first_problem
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords, Row, cell_row, read_table, record_path
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_task
from fluency.report.report import write_products
from fluency.world import World

MAX_TASK_BYTES = 256 << 10
MAX_TASK_DEPTH = 12
MAX_TASKS = 200
MAX_CELLS = 50_000


def read_archived_study(archive: UnpackedArchive, *, trust_tasks: bool = False) -> ArchivedStudy:
    """The archive's study and tasks; ArchiveError when they cannot be read or are not the manifest's."""
    study = _study(archive)
    names = sorted({name.split("/")[1] for name in archive.manifest.files if name.startswith("tasks/")})
    if len(names) > MAX_TASKS:
        raise ArchiveError(f"it holds {len(names):,} tasks; {MAX_TASKS} are read", where=STUDY_FILE)
    size = len(names) * len(study.models) * len(study.shells) * study.trials
    if size > MAX_CELLS:
        raise ArchiveError(f"it is a study of {size:,} cells; {MAX_CELLS:,} are read", where=STUDY_FILE)
    held = read_held_out(archive.root) if archive.manifest.held_out else None
    absent = {name.split("/")[1] for name in archive.absent if name.startswith("tasks/")}
    facts = {fact.id: fact for fact in held.tasks} if held else {}
    if unknown := absent - facts.keys():
        raise ArchiveError(f"it does not describe the task {min(unknown)}", where=HELD_OUT)
    tasks: list[Task | HeldOutTask] = [facts[name] if name in absent else _task(archive, name) for name in names]
    if not isinstance(study.tasks, str) and set(study.tasks) != set(names):
        raise ArchiveError("the archived tasks are not those of the study", where=STUDY_FILE)
    runnable, edited = (
        ({task.id: task for task in tasks if isinstance(task, Task)}, frozenset())
        if trust_tasks
        else trusted_tasks(archive, tasks)
    )
    tasks = [runnable.get(task.id, task) for task in tasks]
    return ArchivedStudy(archive, study, tasks, frozenset(runnable), edited, held)


def _study(archive: UnpackedArchive) -> Study:
    value = json_of(archive.root, STUDY_FILE)
    try:
        study = Study.model_validate(value)
    except ValidationError as error:
        raise ArchiveError(first_problem(error), where=STUDY_FILE) from None
    if not hashes_to(value, archive.manifest.study_sha256) or study.study != archive.manifest.study:
        raise ArchiveError("it is not the study whose hash the manifest states", where=STUDY_FILE)
    return study


def _task(archive: UnpackedArchive, name: str) -> Task:
    where = f"tasks/{name}/task.yaml"
    path = archive.root / where
    try:
        if path.stat().st_size > MAX_TASK_BYTES:
            raise ArchiveError(f"it is larger than {MAX_TASK_BYTES:,} bytes", where=where)
        _check_yaml(path.read_bytes(), where)
        return load_task(path.parent)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        raise ArchiveError(f"the task cannot be read: {type(error).__name__}", where=where) from None
    except ArchiveError:
        raise
    except UserError as error:
        raise ArchiveError(error.what, where=error.where.replace(f"{archive.root}/", "")) from None


def _check_yaml(data: bytes, where: str) -> None:
    """ArchiveError for small files that take without end: aliases name endless content, nesting costs its square."""
    depth = 0
    for event in yaml.parse(data, yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise ArchiveError("it holds YAML aliases", where=where)
        if depth > MAX_TASK_DEPTH:
            raise ArchiveError(f"it nests deeper than {MAX_TASK_DEPTH} levels", where=where)


IMAGE_FILE = "results/image.json"
KEEP_BYTES = 48 << 20
MAX_TREES, MAX_WORLD_DOCUMENTS = 256 << 20, 16 << 20
"""Bytes of all worlds' trees, and of the documents beside them: worlds are kept in memory."""
MAX_TABLE = 64 << 20
"""Characters of text in the rows of all cells."""


class ImageFile(FrozenModel):
    """`results/image.json`."""

    image: ImageInfo
    engine: dict[str, Any] = Field(default_factory=dict)
    start_up_s: dict[str, float | None] = Field(default_factory=dict)


@dataclass
class ArchivedStudy:
    """A readable archive. `tasks` are in the order of the table; `trusted` are those whose code may run, `edited` those
    of them whose text is not this project's. `held`: what stands for private tasks, where the archive holds any out.
    """

    unpacked: UnpackedArchive
    study: Study
    tasks: list[Task | HeldOutTask]
    trusted: frozenset[str]
    edited: frozenset[str] = frozenset()
    held: HeldOut | None = None
    _worlds: dict[str, World] = field(default_factory=dict)
    _kept: dict[Cell, CellRecords] = field(default_factory=dict)
    _kept_bytes: int = 0
    _in_rows: int = 0

    @cached_property
    def _shown(self) -> dict[str, Task | HeldOutTask]:
        return {task.id: task for task in self.shown_tasks}

    @property
    def root(self) -> Path:
        """The folder the archive was unpacked into."""
        return self.unpacked.root

    @property
    def results(self) -> Path:
        """Its results folder, of the same form as the project's."""
        return self.root / "results"

    @property
    def products(self) -> Path:
        """The study's table, report, figures and explorer."""
        return self.results / self.study.study

    @cached_property
    def shown_tasks(self) -> list[Task | HeldOutTask]:
        """The tasks as table, report and explorer know them: private ones without their texts."""
        return public_tasks(self.tasks, self.study)

    @cached_property
    def held_out(self) -> dict[str, HeldOutTask]:
        """The tasks of which the archive holds nothing but hashes and rows, by id."""
        return {task.id: task for task in self.tasks if isinstance(task, HeldOutTask)}

    @cached_property
    def stated_rows(self) -> dict[Cell, Row]:
        """The row of each cell of a private task, as held_out.json states it."""
        rows = self.held.rows if self.held else []
        return {Cell(row.model, row.shell, row.task, row.trial): row for row in rows}

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell of the design."""
        return list(self.study.cells([task.id for task in self.tasks]))

    @cached_property
    def index(self) -> dict[str, dict[str, str]]:
        """Task -> seed -> folder of the world."""
        value = json_of(self.root, WORLD_INDEX)
        seeds = {str(seed) for seed in self.study.seeds}
        if not isinstance(value, dict) or set(value) != {task.id for task in self.tasks}:
            raise ArchiveError("it does not name the worlds of exactly the study's tasks", where=WORLD_INDEX)
        for task, worlds in value.items():
            if not isinstance(worlds, dict) or set(worlds) != seeds:
                raise ArchiveError(
                    "it does not name a world for each of the study's seeds", where=f"{WORLD_INDEX}: {task}"
                )
            if any(f"{folder}/tree.tar" not in self.unpacked.manifest.files for folder in worlds.values()):
                raise ArchiveError("it names a world that the archive does not hold", where=f"{WORLD_INDEX}: {task}")
        _check_size(self.root, {folder for worlds in value.values() for folder in worlds.values()})
        return value

    @cached_property
    def image_file(self) -> ImageFile | None:
        """What results/image.json says; None where the archive holds none."""
        if IMAGE_FILE not in self.unpacked.manifest.files:
            return None
        try:
            return ImageFile.model_validate(json_of(self.root, IMAGE_FILE))
        except ValidationError as error:
            raise ArchiveError(f"it does not describe an image: {first_problem(error)}", where=IMAGE_FILE) from None

    def world(self, task: Task | HeldOutTask, seed: int) -> World:
        """The archived world of a task, checked against its own hash."""
        folder = self.index[task.id][str(seed)]
        if folder not in self._worlds:
            self._worlds[folder] = load_world(self.root, folder)
        return self._worlds[folder]

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records; ArchiveError names a file that is no record of a schema this version knows."""
        records = CellRecords(
            self._record("generations", Generation, cell),
            self._record("executions", Execution, cell),
            self._record("scores", Score, cell),
        )
        if self._kept_bytes <= KEEP_BYTES:
            self._kept[cell] = records
        return records

    def known_world(self, task: Task | HeldOutTask, seed: int) -> Hashed:
        """The world of a task, or what is stated of it where it is held out."""
        if task.id not in self.held_out:
            return self.world(task, seed)
        stated = self.held.worlds.get(task.id, {}).get(str(seed)) if self.held else None
        if stated is None:
            raise ArchiveError(f"it states no world {seed} of {task.id}", where=HELD_OUT)
        return stated

    def row(self, cell: Cell, records: CellRecords) -> Row:
        """A cell's row; ArchiveError once the rows hold more text than a table that can be read."""
        if cell.task in self.held_out:
            if cell not in self.stated_rows:
                raise ArchiveError("it states no row of this cell", where=f"{HELD_OUT}: {cell.path}")
            row = self.stated_rows[cell]
        else:
            row = cell_row(cell, self._shown[cell.task], records)
        self._in_rows += sum(len(value) for value in dict(row).values() if isinstance(value, str))
        if self._in_rows > MAX_TABLE:
            raise ArchiveError(f"the rows of its cells hold more than {MAX_TABLE:,} characters", where=cell.path)
        return row

    def view(self, provenance: Provenance | None = None) -> StudyView:
        """The archived study as it may be shown."""
        return StudyView(
            self.study,
            self.shown_tasks,
            self.cells,
            self.read_again,
            row=lambda cell: self.row(cell, self.read_again(cell)),
            provenance=provenance or Provenance(),
            control=read_control(self.products),
        )

    def read_again(self, cell: Cell) -> CellRecords:
        """The records of a cell, from memory where they were kept."""
        return self._kept.get(cell) or self.records(cell)

    def _record(self, stage: str, kind: type[RecordType], cell: Cell) -> RecordType | None:
        path = record_path(self.results, stage, cell)
        if not path.is_file():
            return None
        data = path.read_bytes()
        self._kept_bytes += len(data)
        return strict_record(kind, data, f"results/{stage}/{cell.path}.json")


def _check_size(root: Path, folders: set[str]) -> None:
    for name, most in ({"tree.tar": MAX_TREES} | dict.fromkeys(WORLD_DOCUMENTS, MAX_WORLD_DOCUMENTS)).items():
        size = sum((root / folder / name).stat().st_size for folder in folders if (root / folder / name).is_file())
        if size > most:
            raise ArchiveError(f"the worlds' {name} hold {size:,} bytes; {most:,} are read", where=WORLD_INDEX)


def same_worlds(archived: ArchivedStudy, task: Task) -> bool:
    """Whether this checkout's generator makes the worlds that were archived; asked of trusted tasks only."""
    return all(world_for(task, seed).sha256 == archived.world(task, seed).sha256 for seed in archived.study.seeds)


def json_of(root: Path, name: str) -> object:
    """A file of an unpacked archive that is to be JSON; ArchiveError where it is none or is not there."""
    try:
        return untrusted_json((root / name).read_bytes(), name)
    except FileNotFoundError:
        raise ArchiveError("the archive does not hold it", where=name) from None


def write_opened(archive: Path, folder: Path) -> tuple[Path, Path]:
    """Write the report with its figures and the explorer into a folder, and return both paths.

    Nothing is judged anew: the words are this checkout's, the numbers follow from the archived table.
    """
    with unpacked(archive) as files:
        archived = read_archived_study(files)
        table = archived.products / "cells.csv"
        if not table.is_file():
            raise UserError("the archive holds no table", where=str(archive), hint="archive the finished study")
        view = archived.view(read_provenance(archived.products / "provenance.json"))
        write_products(view, read_table(table), folder)
    return folder / "report.md", folder / "explorer.html"
