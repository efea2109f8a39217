"""The report of an unfinished study, from what there is: beside the final one, and saying so on its face."""

from __future__ import annotations

from fluency.common.paths import RESULTS
from fluency.common.terminal import say
from fluency.core.gather import gather_rows
from fluency.core.provenance import collect_provenance
from fluency.core.table import to_frame, write_table
from fluency.report import write_report
from fluency.workflow.pipeline import Pipeline

FOLDER = "partial"


def write_partial(pipeline: Pipeline) -> int:
    """Write results/<study>/partial/ and print the report's path; missing cells are counted as missing."""
    from fluency.report.explorer import write_explorer

    folder = RESULTS / pipeline.study.study / FOLDER
    rows = gather_rows(pipeline.cells, pipeline.tasks, pipeline.load)
    frame = to_frame(rows)
    write_table(folder / "cells.csv", rows)
    write_explorer(folder / "explorer.html", frame, pipeline.study, pipeline.tasks, pipeline.load)
    write_report(
        folder / "report.md", frame, pipeline.study, pipeline.tasks, collect_provenance(pipeline, rows, RESULTS)
    )
    missing = sum(row.status == "missing" for row in rows)
    say(f"{len(rows) - missing} of {len(rows)} cells are measured or known to be unmeasurable; {missing} are missing.")
    print(folder / "report.md")
    return 0
