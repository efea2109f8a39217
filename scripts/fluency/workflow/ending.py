"""The end of a run: what the study says, and where its report is."""

from __future__ import annotations

from fluency.analysis.study_analysis import analyse
from fluency.common.paths import RESULTS
from fluency.core.records import read_control
from fluency.core.table import read_table
from fluency.report.control_rows import control_sentence
from fluency.report.headline import headline
from fluency.workflow.ready_study import ReadyStudy


def ending_of(ready: ReadyStudy) -> str:
    """What the report says and where it is, as text for a terminal."""
    folder = RESULTS / ready.study.study
    lines = ["", headline(analyse(read_table(folder / "cells.csv"), ready.study, ready.tasks))]
    control = read_control(folder) if ready.study.control else None
    if control:
        lines.append(control_sentence(control))
    return "\n".join([*lines, f"Report:   {folder / 'report.md'}", f"Explorer: {folder / 'explorer.html'}"])
