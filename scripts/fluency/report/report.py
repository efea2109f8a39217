"""`report.md`, its figures and the explorer, from the cells table and what may be shown of a study alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from fluency.analysis import decision_table as plan
from fluency.analysis import simulated
from fluency.analysis.robustness import conditions_of, setting_for
from fluency.analysis.study_analysis import Analysis, ModelAnalysis, analyse
from fluency.common.files import write_atomic
from fluency.common.paths import REPORT
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name, task_sets
from fluency.report import first_page, sentences, tables
from fluency.report.explorer import page_header, write_explorer
from fluency.report.figures import Drawing, draw_figures
from fluency.report.markdown import code, text
from fluency.report.marks import MARKS
from fluency.report.numbers import percent, points, seconds, signed

FILTERS = (percent, points, seconds, signed, code, text)


def write_products(view: StudyView, frame: pd.DataFrame, folder: Path) -> None:
    """Write `report.md`, `figures/*.svg` and `explorer.html`; the same inputs give the same bytes."""
    analysis = write_report(folder / "report.md", frame, view)
    write_explorer(folder / "explorer.html", frame, view, page_header(analysis))


def write_report(path: Path, frame: pd.DataFrame, view: StudyView) -> Analysis:
    """Write `path` and `figures/*.svg` next to it; figures of an earlier report are removed."""
    sets = {name: found.tasks for name, found in task_sets().items()}
    analysis = analyse(frame, view.study, view.tasks, sets)
    figures, folder = draw_figures(analysis), path.parent / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {*folder.glob("*.svg")} - {folder / figure.name for figure in figures}:
        stale.unlink()
    for figure in figures:
        write_atomic(folder / figure.name, figure.svg)
    write_atomic(path, render(_values(analysis, view, figures)))
    return analysis


def render(values: Mapping[str, Any], name: str = "report.md.j2") -> str:
    """The Markdown of a template; a value that the template names and `values` lacks is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    return re.sub(r"\n{3,}", "\n\n", environment.get_template(name).render(values))


def _values(analysis: Analysis, view: StudyView, figures: Sequence[Drawing]) -> dict[str, Any]:
    study, provenance, contrast = view.study, view.provenance, analysis.contrast
    drawn = {(figure.kind, figure.model): figure for figure in figures}
    changes = first_page.could_change(analysis)
    return {
        "study": study,
        "verdict": first_page.decides(analysis),
        "question": sentences.question(analysis) + sentences.extra_shells_note(analysis),
        "facts": " ".join(first_page.study_sentences(analysis, view)),
        "how": " ".join(first_page.how_measured(analysis, view)),
        "order_of_asking": sentences.order_of_asking(analysis),
        "composition": sentences.composition_sentences(analysis),
        "deadlines": sentences.deadlines(analysis, study),
        "tables": {
            "first": tables.first_table(analysis),
            "summary": tables.summary_table(analysis),
            "decision": tables.decision_table(analysis),
            "counts": tables.counts_table(analysis),
            "pairs": tables.pair_tables(analysis),
            "control": tables.control_table(view.control) if view.control else "",
        },
        "unexpected": tables.unexpected_controls(view.control) if view.control else [],
        "gaps": drawn.get(("gaps", "")),
        "models": [
            _model(model, drawn, changes.get(model.model, []))
            | {"task_table": tables.task_table(analysis, model)}
            for model in sentences.telling_first(analysis)
        ],
        "baseline": SHELLS[contrast[0]].short_title,
        "challenger": SHELLS[contrast[1]].short_title,
        "as_designed": contrast == DESIGN_SHELLS,
        "titles": {shell: SHELLS[shell].title for shell in analysis.shells_shown},
        "conditions": {
            condition.title: setting_for(condition, contrast)
            for condition in conditions_of(contrast)
            if condition.in_summary
        },
        "limits": {
            "verdict": analysis.plan["no_verdict"]["tasks_below"],
            "direction": plan.DIRECTION_PP,
            "noise": plan.NOISE_PP,
            "floor": int(100 * plan.FLOOR),
            "ceiling": int(100 * plan.CEILING),
            "horizon_s": int(plan.HORIZON_S),
        },
        "simulated": {
            "noise": simulated.NOISE_AT_0,
            "direction": simulated.FALSE_DIRECTION_AT_0,
            "survives": (simulated.SURVIVES, simulated.SURVIVES_AT_10),
        },
        "plan": {**analysis.plan, "sha256": analysis.plan_sha256},
        "marks": ", ".join(f"{symbol} {words}" for symbol, words in MARKS.values()),
        "tasks": [
            (task, provenance.task_sha256.get(task.id, task.sha256)[:16]) for task in view.tasks
        ],
        "task_set": set_name([task.id for task in view.tasks]),
        "bank": Counter(task.provenance for task in view.tasks),
        "registration": provenance.registration,
        "registered": sentences.registration_summary(provenance),
        "deviations": provenance.deviations,
        "provenance": sentences.provenance_facts(provenance),
        "start_up": [
            f"{text(SHELLS[shell].title if shell in SHELLS else shell)} {seconds(taken)}"
            for shell, taken in sorted(provenance.start_up_s.items())
            if taken is not None
        ],
    }


MODEL_TABLES = {
    "differences": tables.difference_table,
    "sensitivities": tables.sensitivity_table,
    "without": tables.leaning_table,
    "sets": tables.sets_table,
    "pass_k": tables.pass_k_table,
    "categories": tables.category_table,
    "composition": tables.composition_table,
    "failures": tables.failure_table,
    "times": tables.time_table,
}


def _model(
    model: ModelAnalysis, drawn: Mapping[tuple[str, str], Drawing], changes: Sequence[str]
) -> dict[str, Any]:
    """What the templates say of one model; `found` holds its numbers."""
    return {
        "name": model.model,
        "sentence": sentences.model_sentence(model),
        "judged": sentences.judged(model, model.reading),
        "changes": changes,
        "silent": first_page.silent_sentence(model),
        "figures": [drawn.get((kind, model.model)) for kind in ("tasks", "failures")],
        "tables": {name: make(model) for name, make in MODEL_TABLES.items()},
        "missing_programs": sentences.missing_programs(model),
        "needed": sentences.tasks_needed(model.gap.needed)
        if model.gap and model.gap.needed
        else "",
        "gaps_under_conditions": sentences.gaps_under_conditions(model),
        "side_effects": sentences.side_effects(model),
        "attempts": sentences.attempts(model),
        "top_commands": sentences.top_commands(model),
        "found": model,
    }
