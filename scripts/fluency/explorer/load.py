"""A cell's three records, as far as they exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fluency.cells import Cell
from fluency.paths import RESULTS
from fluency.records import Execution, Generation, Part, Score, read_record

Kind = TypeVar("Kind", bound=Part)


@dataclass(frozen=True)
class CellRecords:
    """What is known of one cell; a stage that has not run is None."""

    generation: Generation | None = None
    execution: Execution | None = None
    score: Score | None = None


def read_cell(cell: Cell, results: Path = RESULTS) -> CellRecords:
    """The records of one cell from a results folder; UserError if one of them is damaged."""

    def record(folder: str, kind: type[Kind]) -> Kind | None:
        path = Path(results) / folder / f"{cell.path}.json"
        return read_record(kind, path) if path.is_file() else None

    return CellRecords(
        generation=record("generations", Generation),
        execution=record("executions", Execution),
        score=record("scores", Score),
    )


def records_in(results: Path = RESULTS) -> Callable[[Cell], CellRecords]:
    """The default loader: a function from a cell to its records in one results folder."""
    return lambda cell: read_cell(cell, results)
