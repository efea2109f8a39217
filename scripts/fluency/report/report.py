"""`report.md`, its figures and the explorer, from the cells table and what may be shown of a study alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from fluency.analysis import decision_table as plan
from fluency.analysis import simulated
from fluency.analysis.robustness import conditions_of, setting_for
from fluency.analysis.study_analysis import Analysis, analyse
from fluency.common.files import write_atomic
from fluency.common.paths import REPORT
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name, task_sets
from fluency.report import first_page, markdown, sentences, tables
from fluency.report.explorer import model_rates, write_explorer
from fluency.report.figures import Drawing, draw_figures
from fluency.report.marks import MARKS
from fluency.report.numbers import percent, points, seconds, signed, span


def write_products(view: StudyView, frame: pd.DataFrame, folder: Path) -> None:
    """Write `report.md`, `figures/*.svg` and `explorer.html`; the same inputs give the same bytes."""
    analysis = write_report(folder / "report.md", frame, view)
    write_explorer(folder / "explorer.html", frame, view, model_rates(analysis))


def write_report(path: Path, frame: pd.DataFrame, view: StudyView) -> Analysis:
    """Write `path` and `figures/*.svg` next to it; figures of an earlier report are removed."""
    analysis = analyse(
        frame, view.study, view.tasks, {name: found.tasks for name, found in task_sets().items()}
    )
    figures = draw_figures(analysis, frame)
    folder = path.parent / "figures"
    for stale in {*folder.glob("*.svg")} - {folder / figure.name for figure in figures}:
        stale.unlink()
    for figure in figures:
        write_atomic(folder / figure.name, figure.svg)
    write_atomic(path, render(_values(analysis, view, figures)))
    return analysis


def render(values: dict[str, Any], name: str = "report.md.j2") -> str:
    """The Markdown of a template; a value that the template names and `values` lacks is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    for function in (
        percent,
        points,
        seconds,
        signed,
        span,
        markdown.code,
        markdown.prose,
        markdown.text,
    ):
        environment.filters[function.__name__] = function
    written = environment.get_template(name).render(
        {**values, "tables": tables, "sentences": sentences, "page": first_page}
    )
    return re.sub(r"\n{3,}", "\n\n", written)


def _values(analysis: Analysis, view: StudyView, figures: Sequence[Drawing]) -> dict[str, Any]:
    study, tasks, provenance = view.study, view.tasks, view.provenance
    return {
        "analysis": analysis,
        "view": view,
        "study": study,
        "models": {model.alias: model for model in study.models},
        "tasks": list(tasks),
        "task_set": set_name([task.id for task in tasks]),
        "bank": Counter(task.provenance for task in tasks),
        "provenance": provenance,
        "start_up": {shell: s for shell, s in provenance.start_up_s.items() if s is not None},
        "control": view.control,
        "plan": plan,
        "simulated": simulated,
        "conditions": conditions_of(analysis.contrast),
        "setting_for": setting_for,
        "shells": SHELLS,
        "marks": MARKS,
        "design_shells": DESIGN_SHELLS,
        "baseline": SHELLS[analysis.contrast[0]].short_title,
        "challenger": SHELLS[analysis.contrast[1]].short_title,
        "figures": {(figure.kind, figure.model): figure for figure in figures},
    }
