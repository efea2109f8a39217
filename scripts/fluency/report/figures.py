"""Which figures a report has: one of the gaps, and three for each model that has something to show."""

from __future__ import annotations

import pandas as pd

from fluency.analysis.study_analysis import Analysis
from fluency.report.canvas import Drawing, style
from fluency.report.figure_cells import draw_cells
from fluency.report.figure_gaps import draw_gaps
from fluency.report.figure_tasks import draw_tasks
from fluency.report.figure_times import draw_times


def draw_figures(analysis: Analysis, frame: pd.DataFrame) -> list[Drawing]:
    """All figures of a report, in its order; what was not measured is not drawn."""
    drawings: list[Drawing | None] = []
    with style():
        drawings.append(draw_gaps(analysis))
        for model in analysis.models:
            drawings.append(draw_tasks(analysis, model))
            drawings.append(draw_cells(analysis, model))
            drawings.append(draw_times(model, frame[frame["model"] == model.model]))
    return [drawing for drawing in drawings if drawing]
