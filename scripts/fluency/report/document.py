"""Everything the template may name, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fluency.analysis import plan, simulated
from fluency.analysis.study_analysis import Analysis
from fluency.core.shells import SHELLS
from fluency.core.study_view import StudyView
from fluency.core.tasks import set_name
from fluency.report import (
    answer_rows,
    control_rows,
    first_paragraph,
    pair_rows,
    resource_rows,
    result_rows,
    room,
    time_rows,
    wording,
)
from fluency.report.drawing import Drawing
from fluency.report.headline import headline_of, tasks_needed
from fluency.report.provenance_facts import facts_of, other_builds, registered_how


def document(analysis: Analysis, view: StudyView, figures: Sequence[Drawing]) -> dict[str, Any]:
    """The template's values. Figures are looked up by (kind, model)."""
    study, tasks, provenance = view.study, view.tasks, view.provenance
    return {
        "analysis": analysis,
        "study": study,
        "models": {model.alias: model for model in study.models},
        "tasks": list(tasks),
        "task_set": set_name([task.id for task in tasks]),
        "bank": Counter(task.provenance for task in tasks),
        "provenance": provenance,
        "facts": facts_of(provenance),
        "registered": registered_how(provenance),
        "other_builds": other_builds(provenance),
        "start_up": {shell: s for shell, s in provenance.start_up_s.items() if s is not None},
        "plan": plan,
        "simulated": simulated,
        "tasks_needed": tasks_needed,
        "results": result_rows,
        "pairs": pair_rows,
        "answers": answer_rows,
        "timing": time_rows,
        "control": view.control,
        "controls": control_rows,
        "resources": resource_rows,
        "room": room,
        "opening": first_paragraph,
        "wording": wording,
        "headline_of": headline_of,
        "shells": SHELLS,
        "baseline": SHELLS[analysis.contrast[0]].short_title,
        "challenger": SHELLS[analysis.contrast[1]].short_title,
        "figures": {(figure.kind, figure.model): figure for figure in figures},
    }
