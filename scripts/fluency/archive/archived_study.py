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
from fluency.core.provenance import Provenance, ProvenanceCollector
from fluency.core.records import CONTROL_FILE, Control, ImageInfo
from fluency.core.schema import FrozenModel, RecordType
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, CellRecords, Row, cell_row, to_frame, write_table
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

    def require(holds: object, what: str) -> None:
        if not holds:
            raise ArchiveError(what, where=STUDY_FILE)

    study = parse_record(Study, data, STUDY_FILE)
    same = hashes_to(parse_untrusted(data, STUDY_FILE), manifest.study_sha256)
    require(same and study.study == manifest.study, "it is not the study of the manifest's hash")
    names = sorted({name.split("/")[1] for name in manifest.files if name.startswith("tasks/")})
    size = len(names) * len(study.models) * len(study.shells) * study.trials
    most = f"{MAX_TASKS} and {MAX_CELLS:,} are read"
    few = len(names) <= MAX_TASKS and size <= MAX_CELLS
    require(few, f"{len(names):,} tasks and {size:,} cells; {most}")
    same = isinstance(study.tasks, str) or set(study.tasks) == set(names)
    require(same, "the archived tasks are not those of the study")
    stages = tuple(f"results/{stage}/" for stage in RECORD_TYPES)
    present = {name.split("/")[2] for name in manifest.files if name.startswith(stages)}
    silent = [model.alias for model in study.models if model.alias not in present]
    few = not silent or (manifest.partial and len(silent) <= MAX_SILENT_MODELS)
    require(few, f"it holds no record of the model {', '.join(silent[:1])}")
    ours = present_tasks(names)
    read = {name: _task(archive, name, ours.get(name)) for name in names}
    judged_here = frozenset(name for name, (_, same) in read.items() if same)
    return ArchivedStudy(archive, study, [task for task, _ in read.values()], judged_here)


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
    fields = ("structure", "content", "needs", "category")
    same_check = all(getattr(task, name) == getattr(ours, name, None) for name in fields)
    return task, same_check and theirs | text == mine | text


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in plain_files(folder)}


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

        def require(holds: bool, what: str) -> None:
            if not holds:
                raise ArchiveError(what, where=WORLD_INDEX)

        seeds, files = {str(seed) for seed in self.study.seeds}, self.unpacked.manifest.files
        same = isinstance(value, dict) and value.keys() == self.task_of.keys()
        same = same and all(isinstance(one, dict) and one.keys() == seeds for one in value.values())
        require(same, "it does not name a world for each of the study's tasks and seeds")
        named = [str(folder) for worlds in value.values() for folder in worlds.values()]
        held = all(f"{folder}/tree.tar" in files for folder in named)
        require(held, "it names a world that the archive does not hold")
        for name in ("tree.tar", *WORLD_DOCUMENTS):
            limit = MAX_TREES if name == "tree.tar" else MAX_WORLD_DOCUMENTS
            paths = (self.unpacked.root / folder / name for folder in set(named))
            size = sum(path.stat().st_size for path in paths if path.is_file())
            require(size <= limit, f"the worlds' {name} hold {size:,} bytes; {limit:,} are read")
        return cast("dict[str, dict[str, str]]", value)

    @cached_property
    def image_file(self) -> ImageFile | None:
        return self._record(ImageFile, IMAGE_FILE)

    @property
    def start_up_s(self) -> dict[str, float | None]:
        """Shell -> seconds of an empty command."""
        return self.image_file.start_up_s if self.image_file else {}

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
        collector = ProvenanceCollector(self.study, map(self.records, self.cells))
        made = collector.provenance(self.tasks, [], self.start_up_s)
        return made.model_copy(update=kept)

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
    """Make table, report, figures and explorer again, and return the two pages' paths."""
    view = archived.view(archived.provenance())
    rows = view.rows()
    write_table(folder / "cells.csv", rows)
    write_products(view, to_frame(rows), folder)
    return folder / "report.md", folder / "explorer.html"
