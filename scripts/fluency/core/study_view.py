"""A study as report, export and archive read it, from results/ or from an archive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fluency.core.provenance import Provenance
from fluency.core.records import Control
from fluency.core.study import Cell, Study
from fluency.core.table import CellRecords, Row, cell_row
from fluency.core.tasks import Task


@dataclass(frozen=True)
class StudyView:
    """A study with its tasks and records.

    Attributes:
        records: gives a cell's records, each None until it is made.
        heading: what a page of it says first.
    """

    study: Study
    tasks: Sequence[Task]
    cells: Sequence[Cell]
    records: Callable[[Cell], CellRecords]
    provenance: Provenance
    control: Control | None
    heading: str = ""

    def row(self, cell: Cell) -> Row:
        """The cell's row of the table."""
        task = next(task for task in self.tasks if task.id == cell.task)
        return cell_row(cell, task, self.records(cell))

    def rows(self) -> list[Row]:
        """The cells table, in the order of the design."""
        return [self.row(cell) for cell in self.cells]
