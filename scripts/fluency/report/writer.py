"""`report.md`, its figures and the explorer, from the cells table and what may be shown of a study alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fluency.analysis.study_analysis import analyse
from fluency.common.files import write_atomic
from fluency.core.study_view import StudyView
from fluency.report.document import document
from fluency.report.explorer import write_explorer
from fluency.report.figures import draw_figures
from fluency.report.render import render


def write_products(view: StudyView, frame: pd.DataFrame, folder: Path) -> None:
    """Write `report.md`, `figures/*.svg` and `explorer.html`; the same inputs give the same bytes."""
    write_explorer(folder / "explorer.html", frame, view)
    write_report(folder / "report.md", frame, view)


def write_report(path: Path, frame: pd.DataFrame, view: StudyView) -> None:
    """Write `path` and `figures/*.svg` next to it.

    A figure of an earlier report that this one does not have is removed.
    """
    analysis = analyse(frame, view.study, view.tasks)
    figures = draw_figures(analysis, frame)
    folder = path.parent / "figures"
    for stale in {*folder.glob("*.svg")} - {folder / figure.name for figure in figures}:
        stale.unlink()
    for figure in figures:
        write_atomic(folder / figure.name, figure.svg)
    write_atomic(path, render(document(analysis, view, figures)))
