"""The explorer: one HTML file that shows any cell of a study and runs only its own script."""

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from fluency.analysis.study_analysis import Analysis
from fluency.common.files import write_atomic
from fluency.core.grammar import DIALECTS
from fluency.core.shells import SHELLS, gap_pairs
from fluency.core.study import Cell
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords
from fluency.report.cell_view import NARROW, WIDE, cell_view, turn_view
from fluency.report.marks import FAILURES, MARKS
from fluency.report.page import held
from fluency.report.sentences import decides, result_rows
from fluency.report.templates import render
from fluency.report.words import attempt_note

WIDE_LIMIT = 19_000_000  # characters of details: what a browser reads in well under a second
_LISTED = ["model", "shell", "task", "trial", "turn", "status", "passed", "exit_ok", "quiet"]
_LISTED += ["failure_class", "made_of", "attempts", "reason"]
"""Columns of the table."""


def write_explorer(
    path: Path,
    frame: pd.DataFrame,
    view: StudyView,
    header: dict[str, Any],
    details: Iterable[str] | None = None,
) -> None:
    """Write the explorer; the same inputs give the same bytes.

    Args:
        details: `page_details`, if the records were read before.
    """
    write_atomic(path, page(page_index(frame, view), details or page_details(view), header))


def page_header(analysis: Analysis, heading: str = "") -> dict[str, Any]:
    """What the page says above its table: the numbers and claims as the report states them.

    `heading`: before all else. `verdict`: the report's first line. `rates`: rows of cells, the
    headers first. `failures`: the same for each model that failed.
    """
    shells = analysis.study.shells
    heads = ["Failed with", "What it did", *(SHELLS[shell].title for shell in shells)]
    failures = {
        model.model: [
            heads,
            *(
                [name, FAILURES[name][1], *(line.counts[shell] for shell in shells)]
                for line in model.failures
                for name in [line.failure_class]
            ),
        ]
        for model in analysis.models
        if model.failures
    }
    header = {"heading": heading, "verdict": decides(analysis)}
    return header | {"rates": result_rows(analysis), "failures": failures}


def page_index(frame: pd.DataFrame, view: StudyView) -> dict[str, Any]:
    """What the page draws and filters its table with; small, so that it is there at once.

    `cells`: in the table's order; model, shell, task,
    trial, state, failure class, make-up, attempt, why it was not measured, and whether it failed
    with status 0; of a study with later turns also what the last one made of it.
    """
    study, listed = view.study, frame[_LISTED]
    rows = list(listed.astype(object).where(listed.notna(), None).itertuples(index=False))
    last = study.turns if study.turns > 1 else None
    ends = {_where(row): row.passed for row in rows if row.turn == last}
    return {
        "study": study.study,
        "shells": [[shell, SHELLS[shell].title, _tokens(shell)] for shell in study.shells],
        "contrasts": gap_pairs(study.shells),
        "models": [[model.alias, model.id] for model in study.models],
        "tasks": [[task.id, task.category] for task in view.tasks],
        "marks": MARKS,
        "kinds": {failure: kind for failure, (kind, _) in FAILURES.items()},
        "cells": [
            _entry(row) + ([_look(row.passed, ends[_where(row)])] if ends else [])
            for row in rows
            if row.turn == 1
        ],
    }


def _look(first: Any, last: Any) -> str | None:
    """What became of a first answer; None if it is not known."""
    if first is None or last is None:
        return None
    return "same" if first == last else "repaired" if last else "broken"


def _tokens(shell: str) -> str:
    """What the page colours in a shell's commands; empty: nothing."""
    grammar = SHELLS[shell].grammar
    return DIALECTS[grammar].TOKENS if grammar else ""


def _where(row: Any) -> tuple[str, str, str, int]:
    return row.model, row.shell, row.task, row.trial


def _entry(row: Any) -> list[Any]:
    measured = row.status == "measured"
    state = ("passed" if row.passed else "failed") if measured else row.status
    labels = [row.failure_class, row.made_of, attempt_note(row.attempts, measured)]
    # 1: failed with status 0, 2: quiet, too
    silent = state == "failed" and row.exit_ok is True
    return [*_where(row), state, *labels, row.reason, int(silent) + (row.quiet is True)]


def page_details(view: StudyView) -> Iterator[str]:
    """The cells' views as JSON, in the order of the design."""
    detail = detail_of(view)
    return (detail(cell, view.records(cell)) for cell in view.cells if cell.turn == 1)


def detail_of(view: StudyView) -> Callable[[Cell, CellRecords], str]:
    """A function that gives a cell's view as JSON.

    It is wide, or narrow where a browser could not read all of them at once.
    """
    cells = [cell for cell in view.cells if cell.turn == 1]
    tasks = {task.id: task for task in view.tasks}

    def shown(size: int, cell: Cell, records: CellRecords) -> str:
        found = cell_view(cell, records, tasks.get(cell.task), size)
        later = [replace(cell, turn=turn) for turn in range(2, view.study.turns + 1)]
        if views := [turn_view(each, view.records(each), size) for each in later]:
            found["turns"] = views
        return script_json(found)

    sample = cells[:: len(cells) // 200 + 1]
    length = sum(len(shown(WIDE, cell, view.records(cell))) for cell in sample) * len(cells)
    return partial(shown, WIDE if length <= WIDE_LIMIT * len(sample) else NARROW)


def page(index: dict[str, Any], details: Iterable[str], header: dict[str, Any]) -> str:
    """The page's HTML. Style and script are allowed by their hashes, and nothing else is.

    `details` are JSON in ASCII, and the page holds their list as Base64 of zlib's format.
    """
    values: dict[str, Any] = {"head": index, "header": header}
    pack, packed = zlib.compressobj(9), []
    for number, one in enumerate(details):  # all at once take much memory
        packed.append(pack.compress(f"{',' if number else '['}{one}".encode()))
    packed += [pack.compress(b"]"), pack.flush()]
    values |= {
        "index": Markup(script_json(index)),
        "details": base64.b64encode(b"".join(packed)).decode(),
    }
    for name, file in (("style", "style.css"), ("script", "script.js")):
        values[name], values[f"{name}_hash"] = held(f"explorer/{file}")
    return render("explorer.html.j2", values)


def script_json(value: Any) -> str:
    """JSON in ASCII without `<`, `>` and `&`: inside a script element nothing can be markup.

    U+2028, direction marks and lone surrogates are escapes in it; NaN is refused.
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
