"""The explorer: one page that shows any cell of a study, to doubt the report with."""

from fluency.explorer.load import CellRecords, read_cell, records_in
from fluency.explorer.page import write_explorer

__all__ = ["CellRecords", "read_cell", "records_in", "write_explorer"]
