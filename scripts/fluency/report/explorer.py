"""The explorer: one HTML file that shows any cell of a study, asks for nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from fluency.common.files import write_atomic
from fluency.common.paths import REPORT
from fluency.core.held_out import HeldOutTask
from fluency.core.shells import SHELLS
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import CellRecords
from fluency.core.tasks import Task
from fluency.report import sentences
from fluency.report.cell_view import WIDEST, ViewSize, cell_view

BUDGET = 4_600_000  # characters of details in the page, which with index, styles and script stays below 5 MB
UNPACKED = 20_000_000  # characters of details once unpacked: what a browser reads in well under a second
CELLS = 2_000  # both hold for so many cells; beyond, the page grows with their number
SAMPLE = 50  # cells that are looked at first
VIEW_SIZES = (WIDEST, ViewSize(6_000, 150), ViewSize(2_000, 60), ViewSize(700, 30), ViewSize(200, 12))


def write_explorer(path_to_html: Path, frame: pd.DataFrame, view: StudyView) -> None:
    """Write the explorer of a study.

    frame: the cells table. The same inputs give the same bytes. Long outputs
    are shown in part, as much of each as keeps 2,000 cells within 5 MB; the page states every text's full
    size and names the record that holds it.
    """
    details, packing = page_details(frame, view.tasks, view.records)
    write_atomic(path_to_html, _page(view.study, _index(frame, view.study, view.tasks), details, packing))


def _index(frame: pd.DataFrame, study: Study, tasks: Sequence[Task | HeldOutTask]) -> dict[str, Any]:
    """What the page draws and filters its table with; small, so that it is there at once.

    `cells` are in the table's order: model, shell, task (each a number in `names`), trial, then state,
    failure class, make-up and attempt, likewise.
    """
    categories = {task.id: task.category for task in tasks}
    categories |= dict(zip(frame["task"], frame["category"], strict=True))
    names = ValuePool()
    return {
        "study": study.study,
        "shells": [[shell, SHELLS[shell].title, SHELLS[shell].grammar] for shell in study.shells],
        "models": [[model.alias, model.id] for model in study.models],
        "tasks": [[name, category] for name, category in categories.items()],
        "cells": [_entry(row, names) for row in frame.to_dict("records")],
        "names": names.values,
    }


def page_details(
    frame: pd.DataFrame, tasks: Sequence[Task | HeldOutTask], load: Callable[[Cell], CellRecords]
) -> tuple[str, str]:
    """The cells' views as a data block, and its packing (`json` or `deflate`): the widest size that fits."""
    share = max(1.0, len(frame) / CELLS)
    step = max(1, len(frame) // SAMPLE)
    sample = frame.iloc[::step]
    block, packing = "", "json"
    for size in VIEW_SIZES:
        limit = None if size == VIEW_SIZES[-1] else UNPACKED * share
        # A part of the cells tells what would be far too much; the narrowest size is taken whatever it lets in.
        if limit and step > 1 and _details(sample, tasks, load, size, limit / step) is None:
            continue
        data = _details(frame, tasks, load, size, limit)
        if data is None:
            continue
        block, packing = script_json(data), "json"
        if len(block) > BUDGET * share:
            block, packing = deflated(block), "deflate"
        if len(block) <= BUDGET * share:
            break
    return block, packing


def _page(study: Study, index: dict[str, Any], details: str, packing: str) -> str:
    """The page's HTML. Style and script are allowed by their hashes, so nothing else can be either."""
    folder = REPORT / "explorer"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(REPORT),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("explorer.html.j2").render(
        study=study.study,
        style=Markup(style),
        script=Markup(script),
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        index=Markup(script_json(index)),
        details=Markup(details),
        packing=packing,
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _details(
    frame: pd.DataFrame,
    tasks: Sequence[Task | HeldOutTask],
    load: Callable[[Cell], CellRecords],
    size: ViewSize,
    budget: float | None,
) -> dict[str, Any] | None:
    """The views at one size; None as soon as they are over the budget, in characters."""
    by_id = {task.id: task for task in tasks}
    pool, cells = ValuePool(), []
    for model, shell, task, trial in zip(*(frame[name] for name in ("model", "shell", "task", "trial")), strict=True):
        cell = Cell(model, shell, task, int(trial))
        view = cell_view(cell, load(cell), by_id.get(task), size)
        cells.append(pool.add(view))
        if budget is not None and pool.size > budget:
            return None
    return {"cells": cells, "shapes": pool.shapes, "pool": pool.values}


def _entry(row: dict[Hashable, Any], names: ValuePool) -> list[Any]:
    def known(name: str) -> Any:
        return None if pd.isna(row[name]) else row[name]

    state, failure, made = map(known, ("status", "failure_class", "made_of"))
    if state == "measured":
        state = "passed" if known("passed") else "failed"
    where = [*(names.add(row[name]) for name in ("model", "shell", "task")), int(row["trial"])]
    attempt = sentences.attempt(known("attempts"), row["status"] == "measured")
    return where + [names.add(label) for label in (state, failure, made, attempt)]


class ValuePool:
    """Distinct values by number. A list is `[-1, number…]`, a mapping `[shape, number…]`, the rest is itself.

    shapes: the keys of each kind of mapping, in the order of its numbers. Equal values have one number.
    size: about how many characters of JSON they are.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.shapes: list[list[str]] = []
        self.size = 0
        self._value_numbers: dict[Any, int] = {}
        self._shape_numbers: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> int:
        """The number of a JSON-ready value."""
        if isinstance(value, dict):
            keys = tuple(map(str, value))
            shape = self._shape_numbers.setdefault(keys, len(self.shapes))
            if shape == len(self.shapes):
                self.shapes.append(list(keys))
            return self._keep([shape, *map(self.add, value.values())])
        if isinstance(value, list | tuple):
            return self._keep([-1, *map(self.add, value)])
        return self._keep(round(value, 6) if isinstance(value, float) else value)

    def _keep(self, value: Any) -> int:
        key = tuple(value) if isinstance(value, list) else (type(value), value)
        number = self._value_numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self.size += _length(value)
        return number


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 3
    return 5 * len(value) if isinstance(value, list) else 6


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_json(value: Any) -> str:
    """JSON in pure ASCII without `<`, `>` and `&`: inside a script element nothing in it can be markup.

    Being ASCII it also holds no U+2028, no direction mark and no lone surrogate as such, all of which stay
    in it as escapes; NaN is refused.
    """
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).translate(_HTML)


def deflated(text: str) -> str:
    """A text compressed (zlib's format) in base64, which holds no character that HTML gives a meaning."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
