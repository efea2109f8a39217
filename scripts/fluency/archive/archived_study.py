"""An unpacked archive as a study: tasks, worlds, records."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import Field

from fluency.archive.pack import STUDY_FILE
from fluency.archive.unpack import UnpackedArchive
from fluency.archive.untrusted_json import parse_record, parse_untrusted
from fluency.archive.world_files import WORLD_DOCUMENTS, WORLD_INDEX, load_world
from fluency.common.canonical import hashes_to
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import plain_files
from fluency.core.provenance import Provenance, collect_provenance
from fluency.core.records import CONTROL_FILE, Control, ImageInfo
from fluency.core.schema import FrozenModel, RecordType
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, CellRecords, Row, cell_row, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_task, read_task, task_folder
from fluency.report.report import write_products
from fluency.world import World

MAX_YAML_BYTES = 64 << 10
MAX_YAML_DEPTH = 12
MAX_TASKS = 500
MAX_CELLS = 50_000
MAX_SILENT_MODELS = 10
"""Models of an unfinished study that have no record yet."""
IMAGE_FILE = "results/image.json"
MAX_TREES, MAX_WORLD_DOCUMENTS = 256 << 20, 16 << 20
"""Bytes of all worlds' trees, and of their other documents: worlds are kept in memory."""
MAX_TABLE = 64 << 20
"""Characters of text in the rows of all cells."""
STATED = ("commit", "dirty", "version", "versions", "lock_sha256", "config_files", "deviations")
"""What provenance.json says of the moment it was written; everything else follows from records."""


class ImageFile(FrozenModel):
    """`results/image.json`."""

    image: ImageInfo
    engine: dict[str, Any] = Field(default_factory=dict)
    start_up_s: dict[str, float | None] = Field(default_factory=dict)


def read_archived_study(archive: UnpackedArchive) -> ArchivedStudy:
    """Read the study and its tasks.

    Raises:
        ArchiveError: if they cannot be read, are too many, or are not the manifest's.
    """
    data, manifest = archive.read(STUDY_FILE), archive.manifest
    study = parse_record(Study, data, STUDY_FILE)
    value = parse_untrusted(data, STUDY_FILE)
    if not hashes_to(value, manifest.study_sha256) or study.study != manifest.study:
        raise ArchiveError("it is not the study whose hash the manifest states", where=STUDY_FILE)
    names = sorted({name.split("/")[1] for name in manifest.files if name.startswith("tasks/")})
    size = len(names) * len(study.models) * len(study.shells) * study.trials
    if len(names) > MAX_TASKS or size > MAX_CELLS:
        what = f"{len(names):,} tasks and {size:,} cells; {MAX_TASKS} and {MAX_CELLS:,} are read"
        raise ArchiveError(what, where=STUDY_FILE)
    if not isinstance(study.tasks, str) and set(study.tasks) != set(names):
        raise ArchiveError("the archived tasks are not those of the study", where=STUDY_FILE)
    stages = tuple(f"results/{stage}/" for stage in RECORD_TYPES)
    present = {name.split("/")[2] for name in manifest.files if name.startswith(stages)}
    silent = [model.alias for model in study.models if model.alias not in present]
    if silent and (not manifest.partial or len(silent) > MAX_SILENT_MODELS):
        raise ArchiveError(f"it holds no record of the model {silent[0]}", where=STUDY_FILE)
    ours = present_tasks(names)
    tasks, judged_here = list[Task](), set[str]()
    for name in names:
        task, same = _task(archive, name, ours.get(name))
        tasks.append(task)
        judged_here |= {name} if same else set()
    return ArchivedStudy(archive, study, tasks, frozenset(judged_here))


def _task(archive: UnpackedArchive, name: str, ours: Task | None) -> tuple[Task, bool]:
    """An archived task, and whether its code and its check are this checkout's.

    Only then may its code run, and its pattern be compiled.
    """
    theirs = _files(archive.root / "tasks" / name)
    mine = _files(ours.folder) if ours else {}
    if ours and theirs == mine:
        return ours, True
    where = f"tasks/{name}/task.yaml"
    check_yaml(archive.read(where), where)
    try:
        task = read_task((archive.root / where).parent)
    except UserError as error:
        raise ArchiveError(error.what, where=error.where.replace(f"{archive.root}/", "")) from None
    text = {"task.yaml": b""}
    same_code = bool(ours) and theirs | text == mine | text
    return task, bool(same_code and ours and _check(task) == _check(ours))


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in plain_files(folder)}


def _check(task: Task) -> tuple[object, ...]:
    return task.structure, task.content, task.needs, task.category


def check_yaml(data: bytes, where: str) -> None:
    """Refuse small files whose reading takes without end; ArchiveError."""
    if len(data) > MAX_YAML_BYTES:
        raise ArchiveError(f"it is larger than {MAX_YAML_BYTES:,} bytes", where=where)
    depth = 0
    try:
        for event in yaml.parse(data, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise ArchiveError(f"it nests deeper than {MAX_YAML_DEPTH} levels", where=where)
            if isinstance(event, yaml.AliasEvent):
                raise ArchiveError("it holds an alias", where=where)
    except (yaml.YAMLError, ValueError) as error:
        raise ArchiveError(f"it cannot be read: {type(error).__name__}", where=where) from None


def present_tasks(ids: Iterable[str]) -> dict[str, Task]:
    """The tasks that this checkout, or its private folder, has too."""
    folders = {name: task_folder(name) for name in ids}
    return {name: load_task(folder) for name, folder in folders.items() if folder}


@dataclass
class ArchivedStudy:
    """A readable archive.

    Attributes:
        tasks: in the order of the table.
        judged_here: the tasks whose code and check are this checkout's.
    """

    unpacked: UnpackedArchive
    study: Study
    tasks: list[Task]
    judged_here: frozenset[str]
    _worlds: dict[str, World] = field(default_factory=dict)
    _in_rows: int = 0

    @property
    def products(self) -> str:
        """The folder of the study's table, report, figures and explorer."""
        return f"results/{self.study.study}"

    @cached_property
    def task_of(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}

    @cached_property
    def cells(self) -> list[Cell]:
        return list(self.study.cells(list(self.task_of)))

    @cached_property
    def index(self) -> dict[str, dict[str, str]]:
        """Task -> seed -> folder of the world."""
        value = parse_untrusted(self.unpacked.read(WORLD_INDEX), WORLD_INDEX)
        seeds = {str(seed) for seed in self.study.seeds}
        if not isinstance(value, dict) or set(value) != self.task_of.keys():
            what = "it does not name the worlds of exactly the study's tasks"
            raise ArchiveError(what, where=WORLD_INDEX)
        for task, worlds in value.items():
            if not isinstance(worlds, dict) or set(worlds) != seeds:
                what = "it does not name a world for each of the study's seeds"
                raise ArchiveError(what, where=f"{WORLD_INDEX}: {task}")
            if not {f"{folder}/tree.tar" for folder in worlds.values()} <= set(
                self.unpacked.manifest.files
            ):
                what = "it names a world that the archive does not hold"
                raise ArchiveError(what, where=f"{WORLD_INDEX}: {task}")
        folders = {folder for worlds in value.values() for folder in worlds.values()}
        most = {"tree.tar": MAX_TREES} | dict.fromkeys(WORLD_DOCUMENTS, MAX_WORLD_DOCUMENTS)
        for name, limit in most.items():
            paths = (self.unpacked.root / folder / name for folder in folders)
            if (size := sum(path.stat().st_size for path in paths if path.is_file())) > limit:
                what = f"the worlds' {name} hold {size:,} bytes; {limit:,} are read"
                raise ArchiveError(what, where=WORLD_INDEX)
        return value

    @cached_property
    def image_file(self) -> ImageFile | None:
        return self._record(ImageFile, IMAGE_FILE)

    @cached_property
    def control(self) -> Control | None:
        name = f"{self.products}/{CONTROL_FILE}"
        return self._record(Control, name) if self.study.control else None

    def world(self, task: Task, seed: int) -> World:
        """The archived world of a task, checked against its own hash."""
        folder = self.index[task.id][str(seed)]
        if folder not in self._worlds:
            ours = None
            if task.id in self.judged_here:
                with suppress(UserError):
                    ours = world_for(task, seed)
            self._worlds[folder] = load_world(self.unpacked.root, folder, ours)
        return self._worlds[folder]

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records; ArchiveError names a file that is not a record."""
        parts = [
            self._record(kind, f"results/{stage}/{cell.path}.json")
            for stage, kind in RECORD_TYPES.items()
        ]
        return CellRecords(*cast(Any, parts))

    def _record(self, kind: type[RecordType], where: str) -> RecordType | None:
        if not self.unpacked.holds(where):
            return None
        return parse_record(kind, self.unpacked.read(where), where)

    def row(self, cell: Cell, records: CellRecords) -> Row:
        """A cell's row; ArchiveError once the rows hold more text than a table that can be read."""
        row = cell_row(cell, self.task_of[cell.task], records)
        self._in_rows += sum(len(value) for value in dict(row).values() if isinstance(value, str))
        if self._in_rows > MAX_TABLE:
            what = f"the rows of its cells hold more than {MAX_TABLE:,} characters"
            raise ArchiveError(what, where=cell.path)
        return row

    def stated_provenance(self) -> Provenance | None:
        """The archived provenance.json, as it is."""
        return self._record(Provenance, f"{self.products}/provenance.json")

    def provenance(self) -> Provenance:
        """The provenance as the records give it, with what the archive states of its making."""
        stated = self.stated_provenance() or Provenance()
        kept = {name: getattr(stated, name) for name in (*STATED, "registration")}
        return collect_provenance(
            self.study,
            self.tasks,
            self.cells,
            [],
            self.records,
            start_up_s=self.image_file.start_up_s if self.image_file else {},
        ).model_copy(update=kept)

    def view(self, provenance: Provenance | None = None) -> StudyView:
        """The archived study as the report reads it."""
        return StudyView(
            self.study,
            self.tasks,
            self.cells,
            self.records,
            provenance=provenance or Provenance(),
            control=self.control,
        )


def write_opened(archived: ArchivedStudy, folder: Path) -> tuple[Path, Path]:
    """Make report, figures and explorer again in a folder, and return the two pages' paths."""
    view = archived.view(archived.provenance())
    write_products(view, to_frame(view.rows()), folder)
    return folder / "report.md", folder / "explorer.html"
