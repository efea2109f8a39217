"""The cell: one trial of one task in one shell by one model, and its path."""

from __future__ import annotations

from typing import NamedTuple

from fluency.common.errors import UserError
from fluency.core.shells import SHELLS


class Cell(NamedTuple):
    """A point of the design; `model` is the short alias from config, `trial` counts from 1."""

    model: str
    shell: str
    task: str
    trial: int

    @property
    def path(self) -> str:
        """`model/shell/task/trial`, the name of the cell's files and of the cell on the command line."""
        return "/".join(map(str, self))

    @classmethod
    def parse(cls, path: str) -> Cell:
        """The cell a path names; UserError if it is not `model/shell/task/trial`."""
        parts = path.strip("/").split("/")
        if len(parts) != 4 or parts[1] not in SHELLS or not parts[3].isdigit():
            raise UserError(
                "this is not a cell",
                where=path,
                hint="write model/shell/task/trial, for example qwen-0.5b/bash/tree-size-bytes/1",
            )
        return cls(parts[0], parts[1], parts[2], int(parts[3]))
