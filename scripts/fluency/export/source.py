"""What is exported: a study's design and records, from its archive or from where it was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fluency.archive.archived_study import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.common.errors import ArchiveError
from fluency.core.cells import Cell
from fluency.core.gather import CellRecords, gather_rows
from fluency.core.records import Row
from fluency.core.study import Study
from fluency.core.tasks import Task


@dataclass(frozen=True)
class Source:
    """A study to export. `origin` says in words where it is from, `name` is safe in a path."""

    name: str
    origin: str
    study: Study
    tasks: Sequence[Task]
    cells: Sequence[Cell]
    load: Callable[[Cell], CellRecords]
    """A cell's records; each may be None where the study is not finished."""

    def rows(self) -> list[Row]:
        """The cells table, one row a cell, in the order of the design."""
        return gather_rows(self.cells, self.tasks, self.load)


class Ready(Protocol):
    """A study as `workflow` opens it."""

    study: Study
    tasks: list[Task]
    cells: list[Cell]

    def load(self, cell: Cell) -> CellRecords:
        """The records there are of a cell."""


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
            tasks=archived.tasks,
            cells=archived.cells,
            load=archived.records,
        )


@contextmanager
def ready_source(ready: Ready) -> Iterator[Source]:
    """The study of a configuration, as far as its records stand in results/."""
    study = ready.study
    yield Source(study.study, f"the study {study.study} as it stands", study, ready.tasks, ready.cells, ready.load)
