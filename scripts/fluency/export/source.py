"""What is exported: a study's design and records, from its archive or from where it was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fluency.archive.archived_study import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.common.errors import ArchiveError
from fluency.core.held_out import HeldOutTask
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Cell, Study
from fluency.core.table import CellRecords, Row, cell_row
from fluency.core.tasks import Task


@dataclass(frozen=True)
class Source:
    """A study to export. `origin` says in words where it is from, `name` is safe in a path.

    Private tasks have no texts here and their cells no records, only rows, unless the study shows them.
    """

    name: str
    origin: str
    study: Study
    tasks: Sequence[Task | HeldOutTask]
    cells: Sequence[Cell]
    load: Callable[[Cell], CellRecords]
    """A cell's records; each may be None where the study is not finished."""
    row: Callable[[Cell], Row]
    """A cell's row of the table."""

    def rows(self) -> list[Row]:
        """The cells table, one row a cell, in the order of the design."""
        return [self.row(cell) for cell in self.cells]


@contextmanager
def archived_source(archive: Path) -> Iterator[Source]:
    """The study of an archive, unpacked for as long as it is exported; ArchiveError where it is refused.

    Every file was held against the manifest's hash; `make verify` proves more. No code of the archive is run.
    """
    with unpacked(archive) as files:
        if files.problems:
            raise ArchiveError(
                f"it is altered or damaged: {files.problems[0]}", where=str(archive), hint="`make verify` lists all"
            )
        archived = read_archived_study(files)
        yield Source(
            name=archive.name.removesuffix(".tar.zst"),
            origin=f"{archive.name}, SHA-256 {files.sha256}",
            study=archived.study,
            tasks=archived.shown_tasks,
            cells=archived.cells,
            load=_shown(archived.shown_tasks, archived.records),
            row=lambda cell: archived.row(cell, archived.records(cell)),
        )


@contextmanager
def loaded_source(loaded: LoadedStudy) -> Iterator[Source]:
    """The study of a configuration, as far as its records stand in results/."""
    tasks = loaded.shown_tasks
    by_id = {task.id: task for task in tasks}
    yield Source(
        name=loaded.study.study,
        origin=f"the study {loaded.study.study} as it stands",
        study=loaded.study,
        tasks=tasks,
        cells=loaded.cells,
        load=_shown(tasks, loaded.records),
        row=lambda cell: cell_row(cell, by_id[cell.task], loaded.records(cell)),
    )


def _shown(tasks: Sequence[Task | HeldOutTask], load: Callable[[Cell], CellRecords]) -> Callable[[Cell], CellRecords]:
    """Records as they may be exported: none of a task that is held out."""
    held_out = {task.id for task in tasks if isinstance(task, HeldOutTask)}
    return lambda cell: CellRecords(None, None, None) if cell.task in held_out else load(cell)
