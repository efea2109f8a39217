"""An archive opened for reading: report and explorer as this checkout writes them from the archived records."""

from __future__ import annotations

from pathlib import Path

from fluency.archive.study_reader import read_archived_study
from fluency.archive.unpack import unpacked
from fluency.common.errors import UserError
from fluency.core.provenance import read_provenance
from fluency.core.records import read_control
from fluency.core.table import read_table
from fluency.report.explorer import write_explorer
from fluency.report.writer import write_report


def write_opened(archive: Path, folder: Path) -> tuple[Path, Path]:
    """Write the report with its figures and the explorer into a folder, and return both paths.

    Nothing is judged anew: the words are this checkout's, the numbers follow from the archived table.
    """
    with unpacked(archive) as files:
        archived = read_archived_study(files)
        table = archived.products / "cells.csv"
        if not table.is_file():
            raise UserError("the archive holds no table", where=str(archive), hint="archive the finished study")
        frame, provenance = read_table(table), read_provenance(archived.products / "provenance.json")
        report, explorer = folder / "report.md", folder / "explorer.html"
        write_report(report, frame, archived.study, archived.shown_tasks, provenance, read_control(archived.products))
        write_explorer(explorer, frame, archived.study, archived.shown_tasks, archived.read_again)
    return report, explorer
