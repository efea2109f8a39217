"""One cell in a terminal: what the explorer shows of it, where the records are."""

import json
import sys
from contextlib import suppress
from difflib import get_close_matches

from rich.console import Console

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, load_records, record_path
from fluency.core.tasks import Task, load_task, task_folders
from fluency.report.cell_view import cell_view
from fluency.report.templates import render


def main(cell: str, full: bool) -> None:
    """Print what is recorded of one cell, its verdict last; only a terminal gets colour.

    Control characters, terminal escapes and direction marks of a reply or an output are printed as
    escapes, so that no record can write to the reader's terminal.

    Args:
        cell: Its path.
        full: Whether to print the provenance and the records' paths too.

    Raises:
        UserError: Nothing is recorded of the cell.
    """
    asked = Cell.parse(cell)
    paths = [record_path(RESULTS, stage, asked) for stage in RECORD_TYPES]
    if not any(path.exists() for path in paths):
        there = sorted(
            {
                path.relative_to(RESULTS / stage).with_suffix("").as_posix()
                for stage in RECORD_TYPES
                for path in (RESULTS / stage).glob("*/*/*/*.json")
            }
        )
        alike = ", ".join(get_close_matches(asked.path, there, n=5, cutoff=0))
        hint = f"recorded: {alike or 'nothing yet; `make demo` measures some cells'}"
        raise UserError("no record of this cell", where=asked.path, hint=hint)
    records, shell = load_records(RESULTS, asked), SHELLS[asked.shell]
    score = records.score
    view = cell_view(asked, records, _task_of(asked))
    values = {
        "view": view,
        "lexer": shell.lexer,
        "title": f"{asked.model}, {shell.title}, {asked.task}, trial {asked.trial}"
        + (f", turn {asked.turn}" if asked.turn > 1 else ""),
        "passed": score.passed if score else None,
        "failure": (score.failure_class if score else None) or "",
        "provenance": json.dumps(view["provenance"], indent=2, ensure_ascii=False) * full,
        "paths": [str(path) for path in paths if path.exists()],
    }
    console = Console(
        highlight=False, emoji=False, color_system="auto" if sys.stdout.isatty() else None
    )
    console.print(render("show.txt.j2", values), soft_wrap=True, end="")


def _task_of(cell: Cell) -> Task | None:
    with suppress(UserError):  # a record can outlive its task; its rest is still shown
        folder = task_folders().get(cell.task)
        return load_task(folder) if folder else None
    return None
