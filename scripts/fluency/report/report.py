"""The report with its figures, and the explorer, from the cells table and a study's view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluency.analysis import decision_table, simulated
from fluency.analysis.study_analysis import Analysis, analyse
from fluency.common.files import write_atomic
from fluency.core.shells import EXTRA_CONDITIONS, SHELLS
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name, task_sets
from fluency.report import sentences
from fluency.report.explorer import page_header, write_explorer
from fluency.report.facts import flat
from fluency.report.figures import Drawing, draw_figures
from fluency.report.markdown import text
from fluency.report.marks import MARKS
from fluency.report.page import html_page
from fluency.report.templates import render
from fluency.report.words import short_name, short_names

if TYPE_CHECKING:
    import pandas as pd

STATED_ELSEWHERE = {
    "schema_version",
    "decision",
    "task_sha256",
    "registration",
    "deviations",
    "first_answer_utc",
    "conditions",
}
"""What the report states in other places."""


def write_products(
    view: StudyView, frame: pd.DataFrame, folder: Path, details: Iterable[str] | None = None
) -> Analysis:
    """Write `report.md`, `report.html`, `figures/*.svg` and `explorer.html`.

    The same inputs give the same bytes; `details` are the explorer's, see `write_explorer`.
    """
    analysis = write_report(folder / "report.md", frame, view)
    header = page_header(analysis, view.heading)
    write_explorer(folder / "explorer.html", frame, view, header, details)
    return analysis


def write_report(path: Path, frame: pd.DataFrame, view: StudyView) -> Analysis:
    """Write `path`, its page and `figures/*.svg`; figures of an earlier report are removed."""
    sets = {name: found.tasks for name, found in task_sets().items()}
    analysis = analyse(frame, view.study, view.tasks, sets)
    figures, folder = draw_figures(analysis), path.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {*folder.glob("*.svg")} - {folder / figure.name for figure in figures}:
        stale.unlink()
    for figure in figures:
        write_atomic(folder / figure.name, figure.svg)
    markdown = render("report.md.j2", page_values(analysis, view, figures))
    write_atomic(path, markdown)
    svgs = {f"figures/{figure.name}": figure.svg for figure in figures}
    write_atomic(path.with_suffix(".html"), html_page(markdown, svgs))
    return analysis


def page_values(
    analysis: Analysis, view: StudyView, figures: Sequence[Drawing] = ()
) -> dict[str, Any]:
    """What the templates of report and decision record may name."""
    provenance = view.provenance
    first, *challengers = analysis.shells_shown
    titles = " or ".join(SHELLS[shell].title for shell in challengers)
    contrasts = sentences.telling_first(analysis.contrasts)
    models = {model.model: model for model in analysis.models}
    return {
        "analysis": analysis,
        "study": view.study,
        "control": view.control,
        "heading": view.heading,
        "verdict": sentences.decides(analysis),
        "question": f"Does a model write a working one-shot command more often in {titles} "
        f"than in {SHELLS[first].title}?",
        "facts": " ".join(sentences.study_sentences(analysis, view)),
        "versions": {
            shell: version.split("(")[0]
            for image in provenance.images
            for shell, version in image.shells.items()
            if version
        },
        "shells": SHELLS,
        "results": sentences.result_rows(analysis),
        "largest_gaps": sentences.largest_gaps,
        "missing_programs": sentences.missing_programs,
        "windows_powershell": sentences.windows_powershell,
        "could_change": sentences.could_change(analysis),
        "unexpected": sentences.unexpected_controls(view.control),
        "figures": {
            (each.kind, each.model): f"![{text(each.alt, 2000)}](figures/{each.name})"
            for each in figures
        },
        "contrasts": contrasts,
        "models": [models[name] for name in dict.fromkeys(pair.model for pair in contrasts)],
        "baseline": short_name(first),
        "challenger": " or ".join(short_names(challengers)),
        "conditions": [
            extra
            for extra in EXTRA_CONDITIONS
            if any(extra in pair.conditions for pair in contrasts)
        ],
        "readings": dict.fromkeys(line for each in contrasts for line in each.words.values()),
        "plan": decision_table,
        "simulated": simulated,
        "marks": MARKS.values(),
        "tasks": view.tasks,
        "task_set": set_name([task.id for task in view.tasks]),
        "registered": sentences.registered(provenance),
        "provenance": provenance,
        "run_facts": flat(
            provenance.model_dump(mode="json", exclude=STATED_ELSEWHERE, exclude_none=True)
        ),
    }
