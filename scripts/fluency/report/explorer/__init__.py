"""The explorer: one page that shows any cell of a study, to doubt the report with."""

from fluency.report.explorer.page import write_explorer

__all__ = ["write_explorer"]
