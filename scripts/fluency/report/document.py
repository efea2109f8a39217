"""Everything the template may name, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fluency.analysis import Analysis, bands
from fluency.analysis.headline import headline_of
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS
from fluency.core.study import Study
from fluency.core.tasks import Task
from fluency.report import answer_rows, resource_rows, result_rows, time_rows, wording
from fluency.report.canvas import Drawing
from fluency.report.provenance_facts import facts_of


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
        "facts": facts_of(provenance),
        "start_up": {shell: s for shell, s in provenance.start_up_s.items() if s is not None},
        "bands": bands,
        "results": result_rows,
        "answers": answer_rows,
        "timing": time_rows,
        "resources": resource_rows,
        "wording": wording,
        "headline_of": headline_of,
        "shells": SHELLS,
        "baseline": SHELLS[analysis.contrast[0]].short_title,
        "challenger": SHELLS[analysis.contrast[1]].short_title,
        "figures": {(figure.kind, figure.model): figure for figure in figures},
    }
