"""`report.md` and its figures, from the cells table, the design, the provenance and the control alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fluency.analysis.study_analysis import analyse
from fluency.common.files import write_atomic
from fluency.core.held_out import HeldOutTask
from fluency.core.provenance import Provenance
from fluency.core.records import Control
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.report.document import document
from fluency.report.figures import draw_figures
from fluency.report.render import render


def write_report(
    path: Path,
    frame: pd.DataFrame,
    study: Study,
    tasks: Sequence[Task | HeldOutTask],
    provenance: Provenance | None = None,
    control: Control | None = None,
) -> None:
    """Write `path` and `figures/*.svg` beside it; the same inputs give the same bytes.

    A figure of an earlier report that this one does not have is taken away.
    """
    analysis = analyse(frame, study, tasks)
    figures = draw_figures(analysis, frame)
    folder = path.parent / "figures"
    for stale in {*folder.glob("*.svg")} - {folder / figure.name for figure in figures}:
        stale.unlink()
    for figure in figures:
        write_atomic(folder / figure.name, figure.svg)
    write_atomic(path, render(document(analysis, study, tasks, provenance or Provenance(), figures, control)))
