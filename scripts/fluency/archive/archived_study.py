"""An unpacked archive as a study: tasks, worlds, records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import Field, ValidationError

from fluency.archive.pack import REGISTRATIONS, STUDY_FILE, files_below
from fluency.archive.unpack import UnpackedArchive
from fluency.archive.untrusted_json import parse_record, parse_untrusted
from fluency.archive.world_files import TREE, WORLD, WORLD_INDEX, load_world
from fluency.common.errors import ArchiveError
from fluency.core.provenance import Provenance, ProvenanceCollector
from fluency.core.records import CONTROL_FILE, Control, ImageInfo
from fluency.core.schema import FrozenModel, RecordType, first_problem
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, CellRecords, Row, cell_row, to_frame, write_table
from fluency.core.tasks import Task, load_task, read_task, task_folders
from fluency.report.report import write_products
from fluency.world import World

MAX_YAML_BYTES = 64 << 10
MAX_YAML_DEPTH = 12
MAX_TASKS = 500
MAX_CELLS = 50_000
IMAGE_FILE = "results/image.json"
MAX_WORLDS = {TREE: 256 << 20, WORLD: 16 << 20}
"""Bytes of these files of all worlds, which are kept in memory."""
MAX_VALUES_IN_ALL = 20_000_000
"""JSON values in all records and answers: what takes a quarter of a minute to read."""
MAX_TABLE = 64 << 20
"""Characters of text in the rows of all cells."""
STATED = (
    *("commit", "dirty", "version", "versions", "lock_sha256", "config_files"),
    *("deviations", "registration"),
)
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
    study, manifest = parse_record(Study, archive.read(STUDY_FILE), STUDY_FILE), archive.manifest
    files, models = defaultdict[str, list[str]](list), set[str]()
    for name in manifest.files:
        first, second, third = [*name.split("/"), "", ""][:3]
        if first == "tasks":
            files[second].append(name)
        if second in RECORD_TYPES:
            models.add(third)
    size = len(files) * len(study.models) * len(study.shells) * study.trials
    silent = [model.alias for model in study.models if model.alias not in models]
    what = ""
    if study.study != manifest.study:
        what = "it is not the study of the manifest"
    elif len(files) > MAX_TASKS or size > MAX_CELLS:
        what = f"{len(files):,} tasks and {size:,} cells; {MAX_TASKS} and {MAX_CELLS:,} are read"
    elif isinstance(study.tasks, str) or set(study.tasks) != files.keys():
        what = "the archived tasks are not the study's"
    elif silent and not manifest.partial:
        what = f"it holds no record of the models {silent}"
    if what:
        raise ArchiveError(what, where=STUDY_FILE)
    ours = present_tasks(files)
    read = [_task(archive, name, files[name], ours.get(name)) for name in sorted(files)]
    judged_here = frozenset(task.id for task, same in read if same)
    return ArchivedStudy(archive, study, [task for task, _ in read], judged_here)


def _task(
    archive: UnpackedArchive, name: str, files: Sequence[str], ours: Task | None
) -> tuple[Task, bool]:
    """An archived task, and whether its code and its check are this checkout's.

    Only then may its code run, and its pattern be compiled.
    """
    folder, theirs = f"tasks/{name}", {file: archive.read(file) for file in files}
    own = files_below(ours.folder, folder) if ours else {}
    mine = {file: path.read_bytes() for file, path in own.items()}
    if ours and theirs == mine:
        return ours, True
    where = f"{folder}/task.yaml"
    check_yaml(archive.read(where), where)
    task = read_task(archive.extracted(files) / folder)
    checks = [(one.structure, one.content, one.needs) for one in (task, ours or task)]
    return task, checks[0] == checks[1] and theirs | {where: b""} == mine | {where: b""}


def check_yaml(data: bytes, where: str) -> None:
    """Refuse small files whose reading takes without end; ArchiveError."""
    if len(data) > MAX_YAML_BYTES:
        raise ArchiveError(f"it is larger than {MAX_YAML_BYTES:,} bytes", where=where)
    depth = 0
    with suppress(yaml.YAMLError, ValueError):  # whose words are read_task's
        for event in yaml.parse(data, yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH or isinstance(event, yaml.AliasEvent):
                raise ArchiveError(
                    f"it holds an alias, or nests deeper than {MAX_YAML_DEPTH} levels", where=where
                )


def present_tasks(ids: Iterable[str]) -> dict[str, Task]:
    """The tasks that this checkout, or its private folder, has too."""
    folders = task_folders()
    return {name: load_task(folders[name]) for name in ids if name in folders}


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
    _values: int = 0

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
    def index(self) -> Any:
        """Task -> seed -> folder of the world, as the archive states it."""
        for file, limit in MAX_WORLDS.items():
            size = sum(
                size
                for name, (_, size) in self.unpacked.places.items()
                if name.endswith(f"/{file}")
            )
            if size > limit:
                raise ArchiveError(
                    f"the worlds' {file} hold {size:,} bytes; {limit:,} are read", where=WORLD_INDEX
                )
        return parse_untrusted(self.unpacked.read(WORLD_INDEX), WORLD_INDEX)

    @cached_property
    def image_file(self) -> ImageFile | None:
        return self._record(ImageFile, IMAGE_FILE)

    @cached_property
    def control(self) -> Control | None:
        name = f"{self.products}/{CONTROL_FILE}"
        return self._record(Control, name) if self.study.control else None

    @cached_property
    def stated_provenance(self) -> Provenance | None:
        """The archived provenance.json, as it is."""
        return self._record(Provenance, f"{self.products}/provenance.json")

    @cached_property
    def registration(self) -> Path | None:
        """The study's registration, in a folder with the others of the archive."""
        if self.study.preregistration is None:
            return None
        folder = self.unpacked.extracted(
            name for name in self.unpacked.places if name.startswith(f"{REGISTRATIONS}/")
        )
        return folder / REGISTRATIONS / Path(self.study.preregistration).name

    def world(self, task: Task, seed: int) -> World:
        """The archived world of a task, checked against its own hash."""
        try:
            folder = str(self.index[task.id][str(seed)])
        except (LookupError, TypeError):
            raise ArchiveError(
                f"it does not name the world of {task.id} and seed {seed}", where=WORLD_INDEX
            ) from None
        if folder not in self._worlds:
            self._worlds[folder] = load_world(self.unpacked.read, folder)
        return self._worlds[folder]

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records; ArchiveError names a file that is not a record."""
        kinds = RECORD_TYPES.items()
        parts = (self._record(kind, f"results/{stage}/{cell.path}.json") for stage, kind in kinds)
        return CellRecords(*cast(Any, parts))

    def _record(self, kind: type[RecordType], where: str) -> RecordType | None:
        if where not in self.unpacked.places:
            return None
        return parse_record(kind, self.read_json(where), where)

    def read_json(self, where: str) -> bytes:
        """A record or an answer; ArchiveError once they hold more values than can be read soon."""
        is_new = where in self.unpacked.unread  # what is opened reads again what was verified
        data = self.unpacked.read(where)
        self._values += sum(map(data.count, b",[{")) if is_new else 0
        if self._values > MAX_VALUES_IN_ALL:
            what = f"the records and answers hold more than {MAX_VALUES_IN_ALL:,} values"
            raise ArchiveError(what, where=where)
        return data

    def row(self, cell: Cell, records: CellRecords) -> Row:
        """A cell's row; ArchiveError once the rows hold more text than a table that can be read."""
        row = cell_row(cell, self.task_of[cell.task], records)
        self._in_rows += sum(len(value) for _, value in row if isinstance(value, str))
        if self._in_rows > MAX_TABLE:
            raise ArchiveError(
                f"the rows of its cells hold more than {MAX_TABLE:,} characters", where=cell.path
            )
        return row

    def collected(self, collector: ProvenanceCollector) -> Provenance:
        """What the records say, which were added to the collector."""
        start_up_s = self.image_file.start_up_s if self.image_file else {}
        try:
            return collector.provenance(self.tasks, [], start_up_s)
        except ValidationError as error:
            raise ArchiveError(first_problem(error), where="results") from None

    def is_its_image(self, image: ImageInfo) -> bool:
        """Whether an image is the one in results/image.json."""
        return self.image_file is None or self.image_file.image == image

    def view(self) -> StudyView:
        """The study as the report reads it.

        Its provenance is what the records give, with what the archive states of its making.
        """
        made = self.collected(ProvenanceCollector(self.study, map(self.records, self.cells)))
        stated = self.stated_provenance or Provenance()
        provenance = made.model_copy(update={name: getattr(stated, name) for name in STATED})
        return StudyView(
            self.study, self.tasks, self.cells, self.records, provenance, control=self.control
        )


def write_opened(archived: ArchivedStudy, folder: Path) -> tuple[Path, Path]:
    """Make table, report, figures and explorer again, and return the two pages' paths."""
    view = archived.view()
    rows = view.rows()
    write_table(folder / "cells.csv", rows)
    write_products(view, to_frame(rows), folder)
    return folder / "report.md", folder / "explorer.html"
