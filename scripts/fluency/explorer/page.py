"""The explorer's page: one HTML file that asks for nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from fluency.cells import SHELL_TITLES, Cell
from fluency.explorer.load import CellRecords
from fluency.explorer.pack import Pool, deflated, script_json
from fluency.explorer.view import WIDEST, Room, cell_view
from fluency.files import write_atomic
from fluency.paths import REPORT
from fluency.study import Study
from fluency.tasks import Task

BUDGET = 4_600_000  # characters of data in the page, which with styles and script stays below 5 MB
UNPACKED = 20_000_000  # characters of data once unpacked: what a browser reads in a quarter of a second
CELLS = 2_000  # both hold for so many cells; beyond, the page grows with their number
ROOMS = (WIDEST, Room(6_000, 150), Room(2_000, 60), Room(700, 30), Room(200, 12))


def write_explorer(
    path_to_html: Path, frame: pd.DataFrame, study: Study, tasks: Sequence[Task], load: Callable[[Cell], CellRecords]
) -> None:
    """Write the explorer of a study.

    frame: the cells table. load: gives a cell's records, see `records_in`. The same inputs give the same
    bytes. Long outputs are shown in part, as much of each as keeps 2,000 cells within 5 MB; the page
    states every text's full size and names the record that holds it.
    """
    write_atomic(Path(path_to_html), render(study, *page_data(frame, study, tasks, load)))


def page_data(
    frame: pd.DataFrame, study: Study, tasks: Sequence[Task], load: Callable[[Cell], CellRecords]
) -> tuple[str, str]:
    """The page's data block and its packing (`json` or `deflate`), with the widest room that the budget allows."""
    share = max(1.0, len(frame) / CELLS)
    block, packing = "", "json"
    for room in ROOMS:
        last = room == ROOMS[-1]
        data = _packed(frame, study, tasks, load, room, None if last else UNPACKED * share)
        if data is None:
            continue
        block, packing = script_json(data), "json"
        if len(block) > BUDGET * share:
            block, packing = deflated(block), "deflate"
        if len(block) <= BUDGET * share:
            break
    return block, packing


def render(study: Study, block: str, packing: str) -> str:
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
        data=Markup(block),
        packing=packing,
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(
    frame: pd.DataFrame,
    study: Study,
    tasks: Sequence[Task],
    load: Callable[[Cell], CellRecords],
    room: Room,
    budget: float | None,
) -> dict[str, Any] | None:
    """The data with one room; None as soon as it is over the budget, in characters."""
    by_id = {task.id: task for task in tasks}
    pool, cells = Pool(), []
    for row in frame.to_dict("records"):
        cell = Cell(row["model"], row["shell"], row["task"], int(row["trial"]))
        entry = _entry(cell, row, pool)
        entry.append(pool.add(cell_view(cell, load(cell), by_id.get(cell.task), room)))
        cells.append(entry)
        if budget is not None and pool.size > budget:
            return None
    listed = [task.id for task in tasks] + sorted(set(frame["task"]) - set(by_id))
    categories = dict(zip(frame["task"], frame["category"], strict=True))
    return {
        "study": study.study,
        "shells": [[shell, SHELL_TITLES[shell]] for shell in study.shells],
        "models": [[model.alias, model.id] for model in study.models],
        "tasks": [[name, by_id[name].category if name in by_id else categories[name]] for name in listed],
        "cells": cells,
        "shapes": pool.shapes,
        "pool": pool.values,
    }


def _entry(cell: Cell, row: dict[str, Any], pool: Pool) -> list[Any]:
    """A cell in the index: its name, its state, and what it is filtered by, as numbers in the pool."""

    def known(name: str) -> Any:
        return None if pd.isna(row[name]) else row[name]

    state = known("status")
    if state == "measured":
        state = "passed" if known("passed") else "failed"
    labels = [state, known("failure_class"), known("made_of"), known("why") or known("reason")]
    return [*map(pool.add, (cell.model, cell.shell, cell.task)), cell.trial, *map(pool.add, labels)]
