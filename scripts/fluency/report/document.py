"""Everything the template may name, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fluency.analysis import Analysis
from fluency.analysis.analysis_plan import PLAN
from fluency.analysis.headline import headline_of
from fluency.core.shells import SHELLS
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.report import resource_rows, rows, wording
from fluency.report.canvas import Drawing
from fluency.report.provenance import Provenance


def document(
    analysis: Analysis, study: Study, tasks: Sequence[Task], provenance: Provenance, figures: Sequence[Drawing]
) -> dict[str, Any]:
    """The template's values. Figures are looked up by (kind, model)."""
    return {
        "analysis": analysis,
        "study": study,
        "models": {model.alias: model for model in study.models},
        "tasks": list(tasks),
        "bank": Counter(task.provenance for task in tasks),
        "provenance": provenance,
        "facts": provenance.facts(),
        "plan": PLAN,
        "rows": rows,
        "used": resource_rows,
        "wording": wording,
        "headline_of": headline_of,
        "shell_titles": {name: shell.title for name, shell in SHELLS.items()},
        "figures": {(figure.kind, figure.model): figure for figure in figures},
    }
