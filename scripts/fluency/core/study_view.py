"""A study as report, export and archive read it, from results/ or from an archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fluency.core.held_out import HeldOutTask
from fluency.core.provenance import Provenance
from fluency.core.records import Control
from fluency.core.study import Cell, Study
from fluency.core.table import CellRecords, Row
from fluency.core.tasks import Task


@dataclass(frozen=True)
class StudyView:
    """What may be shown of a study: private tasks without texts, their cells with rows but without records."""

    study: Study
    tasks: Sequence[Task | HeldOutTask]
    cells: Sequence[Cell]
    load: Callable[[Cell], CellRecords]
    row: Callable[[Cell], Row]
    provenance: Provenance = field(default_factory=Provenance)
    control: Control | None = None

    def records(self, cell: Cell) -> CellRecords:
        """A cell's records, if they may be shown; each may be None where the study is not finished."""
        hidden = any(task.id == cell.task for task in self.tasks if isinstance(task, HeldOutTask))
        return CellRecords(None, None, None) if hidden else self.load(cell)

    def rows(self) -> list[Row]:
        """The cells table, in the order of the design."""
        return [self.row(cell) for cell in self.cells]
