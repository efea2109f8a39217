"""The cells table: one row a cell, in design order; the analysis, the figures and the explorer start here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import Field

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.core.records import Part

Status = Literal["measured", "not_measured", "missing"]


class Row(Part):
    """A row of `results/<study>/cells.csv`; empty fields are unknown, never zero."""

    model: str
    shell: str
    task: str
    trial: int
    category: str
    status: Status = Field(description="missing: to be measured by the next run; not_measured: the arm cannot be.")
    reason: str | None = Field(None, description="Of missing and not_measured.")
    passed: bool | None = None
    structural_pass: bool | None = None
    exit_ok: bool | None = None
    content_ok: bool | None = None
    lenient_passed: bool | None = None
    no_unix_tools_passed: bool | None = None
    worlds_passed: int | None = Field(None, description="Of the headline's runs (as designed, strict).")
    worlds_run: int | None = None
    failure_class: str | None = None
    why: str | None = None
    made_of: str | None = None
    commands: str | None = Field(None, description="Separated by blanks.")
    outcome: str | None = Field(None, description="Of the generation.")
    command: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    temperature_sent: str | None = Field(None, description="A number, or `provider-default`.")
    model_echoed: str | None = None
    t_gen_s: float | None = Field(None, description="Null for batches and where the server gave none.")
    t_exec_s: float | None = Field(None, description="Mean over the headline's worlds.")
    timed_out: bool | None = None
    peak_memory_bytes: int | None = Field(None, description="Largest over the headline's worlds.")
    cpu_s: float | None = Field(None, description="Mean over the headline's worlds.")
    peak_processes: int | None = Field(None, description="Largest over the headline's worlds.")
    written_bytes: int | None = Field(None, description="In /tmp and HOME; largest over the headline's worlds.")
    output_truncated: bool | None = Field(None, description="A stream was longer than what is kept of it.")
    side_effects: str | None = None
    asked_utc: str | None = None


COLUMNS = list(Row.model_fields)
# Not in the tables of the first archives, which stay readable: unknown there.
LATER = {"peak_processes", "written_bytes", "output_truncated"}
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
    if list(frame.columns) == [name for name in COLUMNS if name not in LATER]:
        frame = frame.reindex(columns=COLUMNS).astype(dtypes())
    if list(frame.columns) != COLUMNS:
        raise UserError("the cells table has other columns", where=str(path), hint="run `snakemake --forcerun gather`")
    return frame
