"""The end of a run: what the study says, and where its report is."""

from __future__ import annotations

from fluency.analysis import analyse, headline
from fluency.common.paths import RESULTS
from fluency.core.table import read_table
from fluency.workflow.ready_study import ReadyStudy


def print_headline(ready: ReadyStudy) -> None:
    """End with what the report says and where it is, on standard output."""
    folder = RESULTS / ready.study.study
    frame = read_table(folder / "cells.csv")
    print()
    print(headline(analyse(frame, ready.study, ready.tasks)))
    print(f"Report:   {folder / 'report.md'}")
    print(f"Explorer: {folder / 'explorer.html'}")
