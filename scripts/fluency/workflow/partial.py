"""The report of an unfinished study, from what there is: beside the final one, and saying so on its face."""

from __future__ import annotations

from fluency.common.paths import RESULTS
from fluency.common.terminal import log_line
from fluency.common.words import plural
from fluency.core.records import read_control
from fluency.core.table import gather_rows, to_frame, write_table
from fluency.report.explorer import write_explorer
from fluency.report.writer import write_report
from fluency.workflow.ready_study import ReadyStudy
from fluency.workflow.study_provenance import provenance_of

FOLDER = "partial"


def write_partial(ready: ReadyStudy) -> int:
    """Write results/<study>/partial/ and print the report's path; missing cells are counted as missing."""
    folder = RESULTS / ready.study.study / FOLDER
    rows = gather_rows(ready.cells, ready.shown_tasks, ready.load)
    frame = to_frame(rows)
    write_table(folder / "cells.csv", rows)
    write_explorer(folder / "explorer.html", frame, ready.study, ready.shown_tasks, ready.load)
    control = read_control(folder.parent)
    write_report(folder / "report.md", frame, ready.study, ready.shown_tasks, provenance_of(ready), control)
    missing = sum(row.status == "missing" for row in rows)
    known = f"{len(rows) - missing} of {plural(len(rows), 'cell')}"
    log_line(f"Measured or known to be unmeasurable: {known}; missing: {missing}.")
    print(folder / "report.md")
    return 0
