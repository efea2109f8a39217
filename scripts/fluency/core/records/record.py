"""What every record has: a schema version and the name of its cell; and how it reaches the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from fluency.common.errors import MADE_ANEW, UserError
from fluency.common.files import pretty_json, write_atomic
from fluency.core.cells import Cell
from fluency.core.part import Part, first_problem
from fluency.core.shells import ShellName

SCHEMA_VERSION = 2
"""2: hashes are of RFC 8785 JSON; 1: of Python's own, which writes whole floats as 1.0 and sorts keys otherwise."""
SchemaVersion = Annotated[int, Field(ge=1, le=SCHEMA_VERSION)]
"""Of a record that this version reads."""


class CellName(Part):
    """A cell as a record holds it."""

    model: str
    shell: ShellName
    task: str
    trial: int

    @classmethod
    def of(cls, cell: Cell) -> CellName:
        """The record's form of a cell."""
        return cls(model=cell.model, shell=cell.shell, task=cell.task, trial=cell.trial)

    @property
    def cell(self) -> Cell:
        """The cell itself."""
        return Cell(self.model, self.shell, self.task, self.trial)


RecordType = TypeVar("RecordType", bound=Part)


def read_record(kind: type[RecordType], path: Path) -> RecordType:
    """A record from its file; UserError names the file when it is damaged or from a newer version."""
    try:
        return kind.model_validate_json(Path(path).read_bytes())
    except FileNotFoundError:
        raise UserError("there is no such record", where=str(path), hint="`make plan` lists what is missing") from None
    except ValidationError as error:
        raise UserError(
            f"this is not a {kind.__name__.lower()} record of schema {SCHEMA_VERSION}: {first_problem(error)}",
            where=str(path),
            hint=MADE_ANEW,
        ) from None


def write_record(path: Path, record: Part) -> None:
    """Write a record atomically."""
    write_atomic(Path(os.fspath(path)), pretty_json(record.model_dump(mode="json")))
