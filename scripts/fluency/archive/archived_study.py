"""An unpacked archive as a study: tasks, worlds, records."""

from __future__ import annotations

import io
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import Field, ValidationError

from fluency.archive.pack import (
    ENTRY_FILES,
    REGISTRATIONS,
    STUDY_FILE,
    TREE,
    WORLD,
    WORLD_INDEX,
    entry_file,
    files_below,
    packed_world,
    world_folder,
)
from fluency.archive.playback import Differ, Player, play
from fluency.archive.unpack import UnpackedArchive
from fluency.common.errors import ArchiveError, UserError
from fluency.common.words import escape_controls
from fluency.core.provenance import Provenance, ProvenanceCollector
from fluency.core.records import CONTROL_FILE, Control, Engine, ImageInfo
from fluency.core.schema import FrozenModel, RecordType, first_problem, write_record
from fluency.core.shells import SHELLS, Shell, ShellName, foreign_shell
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import (
    RECORD_TYPES,
    CellRecords,
    Row,
    cell_record,
    cell_row,
    image_record,
    write_table,
)
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_task, read_task, task_folders
from fluency.core.untrusted_json import UNFORESEEN, parse_record, parse_untrusted
from fluency.execution.image_content import SOURCES, content_sha256
from fluency.registration import compared, design
from fluency.report.report import write_products
from fluency.report.sentences import decides
from fluency.scoring.control import ControlCommand, control_commands, judged_control
from fluency.world.model import HelperSpec, Route, World

MAX_YAML_BYTES = 64 << 10
MAX_YAML_DEPTH = 12
MAX_TASKS = 500
MAX_CELLS = 50_000
MAX_WORLDS = {TREE: 256 << 20, WORLD: 16 << 20}
"""Bytes of these files of all worlds, which are kept in memory."""
MAX_VALUES_IN_ALL = 20_000_000
"""JSON values in all records and answers: what takes a quarter of a minute to read."""
MAX_TABLE = 64 << 20
"""Characters of text in the rows of all cells."""
ISOLATION = {"name", "seccomp", "seccomp_profile", "runtime"}
"""What of the engine is the same for every cell; nodes of a cluster differ in the rest."""


class ImageFile(FrozenModel):
    """`results/images/<shell>.json`."""

    image: ImageInfo
    engine: Engine
    start_up_s: dict[ShellName, float | None] = Field(default_factory=dict)


def read_archived_study(archive: UnpackedArchive) -> ArchivedStudy:
    """Read the study and its tasks.

    Raises:
        ArchiveError: if they cannot be read, are too many, or are not the manifest's.
    """
    entries = [name for name in archive.manifest.files if name.startswith(ENTRY_FILES)]
    foreign = [shell for name in entries if (shell := _foreign_shell(archive, name))]
    archive.scope.enter_context(SHELLS.replaced(foreign))
    study, manifest = parse_record(Study, archive.read(STUDY_FILE), STUDY_FILE), archive.manifest
    files = defaultdict[str, list[str]](list)
    for name in manifest.files:
        first, second = [*name.split("/"), ""][:2]
        if first == "tasks":
            files[second].append(name)
    size = len(files) * len(study.models) * len(study.shells) * study.trials * study.turns
    what = ""
    if study.study != manifest.study:
        what = "it is not the study of the manifest"
    elif len(files) > MAX_TASKS or size > MAX_CELLS:
        what = f"{len(files):,} tasks and {size:,} cells; {MAX_TASKS} and {MAX_CELLS:,} are read"
    elif isinstance(study.tasks, str) or set(study.tasks) != files.keys():
        what = "the archived tasks are not the study's"
    elif not {*entries} <= {*map(entry_file, study.shells)}:
        what = "the archived shells are not the study's"
    if what:
        raise ArchiveError(what, where=STUDY_FILE)
    folders = task_folders()
    ours = {name: load_task(folders[name]) for name in files if name in folders}
    read = [_task(archive, name, files[name], ours.get(name)) for name in sorted(files)]
    judged_here = frozenset(task.id for task, same in read if same)
    names = frozenset(shell.name for shell in foreign)
    return ArchivedStudy(archive, study, [task for task, _ in read], ours, judged_here, names)


def _foreign_shell(archive: UnpackedArchive, name: str) -> Shell | None:
    """The entry in a file of an archive; None if it is this checkout's."""
    check_yaml(archive.read(name), name)
    try:
        return foreign_shell(archive.extracted([name]) / name)
    except UserError as error:
        raise ArchiveError(f"it is not a shell's entry: {error.what}", where=name) from None


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
    try:
        task = read_task(archive.extracted(files) / folder)
    except UserError as error:
        raise ArchiveError(f"it is not a task: {error.what}", where=where) from None
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


@dataclass
class ArchivedStudy:
    """A readable archive.

    Attributes:
        tasks: in the order of the table; of one that is this checkout's, byte by byte, its own.
        ours: this checkout's tasks of these ids.
        judged_here: the tasks whose code and check are this checkout's.
        foreign: the shells whose entry is not this checkout's.
    """

    unpacked: UnpackedArchive
    study: Study
    tasks: list[Task]
    ours: Mapping[str, Task]
    judged_here: frozenset[str]
    foreign: frozenset[str]
    _worlds: dict[str, World] = field(default_factory=dict)
    _last: tuple[Cell, CellRecords] | None = None
    _in_rows: int = 0
    _values: int = 0

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
    def images(self) -> dict[str, ImageFile]:
        """Shell -> the record of its image; empty for those that the archive lacks."""
        return {
            shell: file
            for shell in self.study.shells
            if (file := self._record(ImageFile, f"results/{image_record(shell)}"))
        }

    def sandbox_sha256(self, shells: Iterable[str]) -> str | None:
        """The content of an image of these shells; None if the archive lacks a source."""
        names = [f"sandbox/{name}" for name in SOURCES]
        if not {*names} <= {*self.unpacked.places}:
            return None
        return content_sha256(shells, self.unpacked.extracted(names) / "sandbox")

    @property
    def control_name(self) -> str:
        return f"results/{self.study.study}/{CONTROL_FILE}"

    @cached_property
    def control(self) -> Control | None:
        return self._record(Control, self.control_name) if self.study.control else None

    def world(self, task: Task, seed: int) -> World:
        """The archived world of a task: this checkout's if its files are the same bytes."""
        try:
            folder = str(self.index[task.id][str(seed)])
        except (LookupError, TypeError):
            raise ArchiveError(
                f"it does not name the world of {task.id} and seed {seed}", where=WORLD_INDEX
            ) from None
        if folder not in self._worlds:
            ours = world_for(task, seed) if task.id in self.judged_here else None
            read = self.unpacked.read
            same = (
                ours
                and folder == world_folder(ours)
                and all(read(name) == data for name, data in packed_world(ours).items())
            )
            self._worlds[folder] = ours if ours and same else load_world(read, folder)
        return self._worlds[folder]

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records; ArchiveError names a file that is not a record."""
        kinds = RECORD_TYPES.items()
        parts = (self._record(kind, f"results/{cell_record(stage, cell)}") for stage, kind in kinds)
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

    def played(
        self, cell: Cell, records: CellRecords, differ: Differ = lambda *_: None
    ) -> CellRecords:
        """What a cell's records give by this checkout's code, as far as it can judge them."""
        if not self.is_judged(cell.task, cell.shell):
            records = records._replace(score=None)
        player = None
        if execution := records.execution:
            if not (file := self.images.get(cell.shell)):
                where = f"results/{image_record(cell.shell)}"
                raise ArchiveError("the archive does not hold it", where=where)
            stated, own = execution.engine, file.engine
            shared = stated.keys() | (own.keys() & ISOLATION)
            engine = {key: (own if key in ISOLATION else stated).get(key) for key in shared}
            player = Player(cell.shell, execution, file.image, engine)
        before, task = None, self.task_of[cell.task]
        if cell.turn > 1:
            last, before = self._last or (None, None)
            if last != cell.before:
                before = self.played(cell.before, self.records(cell.before))
        made = play(self.study, task, cell, records, player, self.world, differ, before)
        self._last = cell, made
        return made

    def is_judged(self, task: str, shell: str) -> bool:
        """Whether this checkout can judge a command of this task in this shell."""
        return task in self.judged_here and shell not in self.foreign

    def control_plan(self) -> list[ControlCommand]:
        """What the control runs, of what can be judged here, in the shells there are."""
        planned = control_commands(self.tasks, self.held_shells())
        return [one for one in planned if self.is_judged(one.task.id, one.shell)]

    def held_shells(self) -> list[str]:
        """The shells that are in their images."""
        return [shell for shell, file in self.images.items() if file.image.shells.get(shell)]

    def played_control(self, stored: Control) -> Control:
        """The control as this checkout judges it; without the commands that it lacks."""
        results = {(run.task, run.shell, run.kind): run.results for run in stored.runs}
        runs = [
            judged_control(ran, found, self.world)
            for ran in self.control_plan()
            if (found := results.get((ran.task.id, ran.shell, ran.kind)))
        ]
        return stored.model_copy(update={"runs": runs})

    def provenance(self, collector: ProvenanceCollector) -> Provenance:
        """What follows from the records, which were added to the collector, and the registration.

        ArchiveError if one of these cannot be used.
        """
        times = ((shell, file.start_up_s) for shell, file in self.images.items())
        start_up_s = {shell: found[shell] for shell, found in times if shell in found}
        try:
            made = collector.provenance(self.tasks, start_up_s)
            if (path := self.study.preregistration) is None:
                return made
            data = self.unpacked.read(f"{REGISTRATIONS}/{Path(path).name}")
            # The sandbox that ran, not the one of this checkout.
            ran = {"sandbox_sha256": self.sandbox_sha256(self.study.shells)}
            now = design(self.study, self.tasks, self.world) | ran
            # Among the registrations of the stated commit.
            source = self.unpacked.source
            return compared(made, path, data, now, source.neighbours(path), source.tree)
        except ValidationError as error:
            raise ArchiveError(first_problem(error), where="results") from None
        except UserError as error:
            raise ArchiveError(error.what, where=error.where) from None

    def view(self, provenance: Provenance, heading: str = "") -> StudyView:
        """The study as the report reads it: recomputed, with nothing that the archive concludes."""
        records = cache(lambda cell: self.played(cell, self.records(cell)))
        control = self.played_control(self.control) if self.control else None
        parts = self.study, self.tasks, self.cells, records, provenance, control, heading
        return StudyView(*parts)


def load_world(read: Callable[[str], bytes], folder: str) -> World:
    """Read a world of an archive; `read` gives the bytes of a file.

    It is packed again: only plain files and folders, in the form in which this project packs them,
    give the same bytes, so that links, devices, other owners and unknown keys are refused.

    Raises:
        ArchiveError: if it is not the world of its hash.
    """
    tar, document = read(f"{folder}/{TREE}"), f"{folder}/{WORLD}"
    data = read(document)
    values = parse_untrusted(data, document)
    try:
        files, dirs = _tree(tar)
        http = tuple(map(Route.from_json, values["service"]))
        processes = tuple(map(HelperSpec.from_json, values["processes"]))
        world = World(values["seed"], files, dirs, values["ages"], http, processes)
        same = packed_world(world) == {f"{folder}/{TREE}": tar, document: data}
    except (tarfile.TarError, *UNFORESEEN) as error:
        raise ArchiveError(
            f"the world cannot be read: {type(error).__name__}: {error}", where=folder
        ) from None
    if not same:
        raise ArchiveError("the world's files do not give its hash", where=folder)
    return world


def _tree(tar: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    files, dirs = dict[str, bytes](), list[str]()
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            # A sparse file states any size in a few bytes.
            source = None if member.issparse() else archive.extractfile(member)
            if source is not None:
                files[member.name] = source.read()
            elif member.isdir():
                dirs.append(member.name)
            else:
                raise ValueError(f"{member.name} is neither file nor folder")
    return files, tuple(dirs)


def write_opened(view: StudyView, folder: Path) -> tuple[str, Path, Path]:
    """Make table, report, figures and explorer; returns the finding and the two pages' paths."""
    frame = write_table(folder / "cells.csv", view.rows())
    write_record(folder / "provenance.json", view.provenance)
    analysis = write_products(view, frame, folder)
    return escape_controls(decides(analysis)), folder / "report.html", folder / "explorer.html"
