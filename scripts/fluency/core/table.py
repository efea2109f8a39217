"""The cells table: one row a cell, in design order; the analysis, the figures and the explorer start here."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fluency.common.errors import MADE_ANEW, UserError
from fluency.common.files import write_atomic
from fluency.core.records import Row

COLUMNS = list(Row.model_fields)
# Not in the tables of earlier archives, which stay readable: unknown there.
LATER = {"peak_processes", "written_bytes", "output_truncated", "windows_aliases_passed", "attempts"}
_TYPES = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}


def dtypes() -> dict[str, str]:
    """The pandas type of each column: nullable ones, so that unknown stays unknown."""
    kinds = {}
    for name, field in Row.model_fields.items():
        kinds[name] = next(
            (dtype for kind, dtype in _TYPES.items() if kind.__name__ in str(field.annotation)), "string"
        )
    return kinds


def to_frame(rows: list[Row]) -> pd.DataFrame:
    """Rows as a table with every column and its type, also when there are no rows."""
    return pd.DataFrame([row.model_dump() for row in rows], columns=COLUMNS).astype(dtypes())


def write_table(path: Path, rows: list[Row]) -> None:
    """Write the table as CSV, byte for byte the same for the same rows."""
    write_atomic(path, to_frame(rows).to_csv(index=False, lineterminator="\n"))


def read_table(path: Path) -> pd.DataFrame:
    """The table with its types; UserError if the file is not one."""
    try:
        frame = pd.read_csv(path, dtype=dtypes(), keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise UserError(
            f"the cells table cannot be read: {error}", where=str(path), hint="run the study, or `snakemake gather`"
        ) from None
    if list(frame.columns) == [name for name in COLUMNS if name not in LATER or name in frame.columns]:
        frame = frame.reindex(columns=COLUMNS).astype(dtypes())
    if list(frame.columns) != COLUMNS:
        raise UserError("the cells table has other columns", where=str(path), hint=MADE_ANEW)
    return frame
