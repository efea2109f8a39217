"""A study to compare: its table, and what was recorded of its run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.core.provenance import Provenance, read_provenance
from fluency.core.table import read_table


@dataclass(frozen=True)
class ComparedStudy:
    """A study's cells table and what was recorded of its run; `provenance` is None where there is none beside it."""

    name: str
    path: Path
    frame: pd.DataFrame
    provenance: Provenance | None

    @property
    def models(self) -> list[str]:
        """In the table's order."""
        return list(dict.fromkeys(self.frame["model"]))

    @property
    def tasks(self) -> list[str]:
        """In the table's order."""
        return list(dict.fromkeys(self.frame["task"]))

    @property
    def trials(self) -> int:
        """Of the design."""
        return int(self.frame["trial"].max())


def open_compared(name: str, results: Path = RESULTS) -> ComparedStudy:
    """A study by its name, its folder or its cells table; UserError if there is none."""
    given = Path(name)
    tries = [given, given / "cells.csv"] if "/" in name or given.suffix or given.is_dir() else []
    tries.append(Path(results) / name / "cells.csv")
    path = next((path for path in tries if path.is_file()), None)
    if path is None:
        known = ", ".join(sorted(file.parent.name for file in Path(results).glob("*/cells.csv"))) or "none yet"
        raise UserError(
            "there is no such study", where=name, hint=f"name a study or a cells.csv; studies with results: {known}"
        )
    frame = read_table(path)
    if frame.empty:
        raise UserError("the study has no cells", where=str(path), hint="run it first")
    beside = path.with_name("provenance.json")
    provenance = read_provenance(beside) if beside.exists() else None
    return ComparedStudy(path.parent.name if name == str(given) and "/" in name else name, path, frame, provenance)
