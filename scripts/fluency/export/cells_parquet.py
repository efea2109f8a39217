"""The cells table as Parquet: typed columns, unknown values null, and the data dictionary in the file's own schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from fluency.core.table import Row, to_frame
from fluency.export.source import Source

TABLE = "cells.parquet"


def write(source: Source, folder: Path) -> list[Path]:
    """Write `cells.parquet`, the same bytes for the same study; each field's metadata says what the column means."""
    table = pa.Table.from_pandas(to_frame(source.rows()), preserve_index=False)
    for index, name in enumerate(table.column_names):
        meaning = {"description": Row.model_fields[name].description or ""}
        table = table.set_column(index, table.schema.field(index).with_metadata(meaning), table.column(index))
    facts = {"study": source.study.study, "origin": source.origin}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **facts})
    parquet.write_table(table, folder / TABLE, compression="zstd")
    return [folder / TABLE]
