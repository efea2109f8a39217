"""The explorer: one HTML file that shows any cell of a study, asks for nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from fluency.analysis.study_analysis import Analysis
from fluency.common.files import write_atomic
from fluency.common.paths import REPORT
from fluency.core.shells import SHELLS, gap_shells
from fluency.core.study import Cell
from fluency.core.study_view import StudyView
from fluency.report.cell_view import NARROW, WIDE, ViewSize, cell_view
from fluency.report.marks import FAILURES, MARKS
from fluency.report.numbers import signed, span
from fluency.report.sentences import attempt, claims_sentence, refusal
from fluency.report.tables import rate_cell

WIDE_LIMIT = 20_000_000  # characters of details: what a browser reads in well under a second
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_explorer(
    path_to_html: Path, frame: pd.DataFrame, view: StudyView, rates: Mapping[str, list[str]]
) -> None:
    """Write the explorer; the same inputs give the same bytes. Long texts are shown in part, with size and record."""
    write_atomic(path_to_html, page(page_index(frame, view), page_details(frame, view), rates))


def model_rates(analysis: Analysis) -> dict[str, list[str]]:
    """By model, each shell's pass rate, the gap and what it shows, as the report states them."""
    return {
        model.model: [rate_cell(model, shell) for shell in analysis.shells]
        + [f"{signed(model.gap.value)} ({span(model.gap.interval)})" if model.gap else "n/a"]
        + [claims_sentence(model) if model.reading.band else f"Not compared: {refusal(model)}."]
        for model in analysis.models
    }


def page_index(frame: pd.DataFrame, view: StudyView) -> dict[str, Any]:
    """What the page draws and filters its table with; small, so that it is there at once.

    `models`: those that passed and failed first. `cells`: in the table's order; model, shell, task (each a number in
    `names`), trial, then state, failure class, make-up and attempt, likewise.
    """
    study = view.study
    categories = {task.id: task.category for task in view.tasks}
    categories |= dict(zip(frame["task"], frame["category"], strict=True))
    results = frame.groupby("model")["passed"].nunique()
    names = ValuePool()
    return {
        "study": study.study,
        "shells": [[shell, SHELLS[shell].title, SHELLS[shell].grammar] for shell in study.shells],
        "contrast": gap_shells(study.shells),
        "models": sorted(
            ([m.alias, m.id] for m in study.models), key=lambda model: results.get(model[0], 0) < 2
        ),
        "tasks": [*categories.items()],
        "marks": MARKS,
        "kinds": {failure: kind for failure, (kind, _) in FAILURES.items()},
        "cells": [_entry(row, names) for row in frame.to_dict("records")],
        "names": names.values,
    }


def _entry(row: dict[Hashable, Any], names: ValuePool) -> list[Any]:
    known = {name: None if pd.isna(value) else value for name, value in row.items()}
    measured = known["status"] == "measured"
    state = ("passed" if known["passed"] else "failed") if measured else known["status"]
    labels = state, known["failure_class"], known["made_of"], attempt(known["attempts"], measured)
    where = [names.add(row[name]) for name in ("model", "shell", "task")]
    return [*where, int(row["trial"]), *map(names.add, labels)]


def page_details(frame: pd.DataFrame, view: StudyView) -> dict[str, Any]:
    """The cells' views: wide, or narrow where the wide ones are more than a browser reads at once."""
    return _details(frame, view, WIDE, WIDE_LIMIT) or _details(frame, view, NARROW, float("inf"))


def _details(frame: pd.DataFrame, view: StudyView, size: ViewSize, limit: float) -> dict[str, Any]:
    """The views at one size; empty as soon as they have more characters than the limit."""
    tasks = {task.id: task for task in view.tasks}
    pool, cells = ValuePool(), []
    for model, shell, task, trial in zip(
        *(frame[name] for name in ("model", "shell", "task", "trial")), strict=True
    ):
        cell = Cell(model, shell, task, int(trial))
        cells.append(pool.add(cell_view(cell, view.records(cell), tasks.get(task), size)))
        if pool.size > limit:
            return {}
    return {"cells": cells, "shapes": pool.shapes, "pool": pool.values}


def page(index: dict[str, Any], details: dict[str, Any], rates: Mapping[str, list[str]]) -> str:
    """The page's HTML. Style and script are allowed by their hashes, so nothing else can be either."""
    style, script = (
        (REPORT / "explorer" / name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js")
    )
    texts = {
        "style": style,
        "script": script,
        "index": script_json(index),
        "details": script_json(details),
    }
    loader, undefined = jinja2.FileSystemLoader(REPORT), jinja2.StrictUndefined
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=undefined)
    return environment.get_template("explorer.html.j2").render(
        head=index,
        rates=rates,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        **{name: Markup(text) for name, text in texts.items()},
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_json(value: Any) -> str:
    """JSON in pure ASCII without `<`, `>` and `&`: inside a script element nothing in it can be markup.

    U+2028, direction marks and lone surrogates are escapes in it; NaN is refused.
    """
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).translate(
        _HTML
    )


class ValuePool:
    """Distinct values by number: half of a study's texts are the same text, so they are stored once.

    A list is `[-1, number…]`, a mapping `[shape, number…]`, the rest is itself. shapes: the keys of each kind of
    mapping, in the order of its numbers. size: about how many characters of JSON the values are.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.shapes: list[list[str]] = []
        self.size = 0
        self._value_numbers: dict[Any, int] = {}
        self._shape_numbers: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> int:
        """The number of a JSON-ready value; equal values have one number."""
        if isinstance(value, str) and value in self._value_numbers:  # half of all
            return self._value_numbers[value]
        if isinstance(value, dict):
            keys = tuple(map(str, value))
            shape = self._shape_numbers.setdefault(keys, len(self.shapes))
            if shape == len(self.shapes):
                self.shapes.append(list(keys))
            value = [shape, *map(self.add, value.values())]
        elif isinstance(value, list | tuple):
            value = [-1, *map(self.add, value)]
        elif isinstance(value, float):
            value = round(value, 6)
        key = (
            value
            if isinstance(value, str)
            else tuple(value)
            if isinstance(value, list)
            else (type(value), value)
        )
        number = self._value_numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.size += (
                len(value) + 3
                if isinstance(value, str)
                else 5 * len(value)
                if isinstance(value, list)
                else 6
            )
        return number
