"""One cell in a terminal: what the explorer shows of it, for those who are where the records are."""

from __future__ import annotations

import json
import sys
from dataclasses import astuple
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.common.words import escape_controls
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, load_records, record_path
from fluency.core.tasks import Task, load_task, task_folder
from fluency.report.cell_view import bytes_text, cell_title, cell_view
from fluency.report.marks import mark_of

ENDS = {True: ("passed", "green"), False: ("failed", "red"), None: ("not judged", "yellow")}
OPS = {"-": ("- ", "red"), "+": ("+ ", "cyan"), "=": ("  ", "")}
WIDTH = 140  # columns of a table that goes to a file or a pipe


def show(
    cell: Cell, results: Path = RESULTS, console: Console | None = None, *, full: bool = False
) -> None:
    """Print what is recorded of one cell, its verdict last; `full`: with the provenance and the records' paths.

    UserError that says what there is, if there is nothing of it. Colour goes to a terminal only. Control characters,
    terminal escapes and direction marks of a reply or an output are printed as escapes, so that no record can write
    to the reader's terminal.
    """
    console = console or terminal()
    if not any(record_path(results, stage, cell).exists() for stage in RECORD_TYPES):
        raise _no_such_cell(cell, Path(results))
    records = load_records(results, cell)
    view = cell_view(cell, records, _task_of(cell))
    lexer = SHELLS[cell.shell].lexer
    _texts(console, "Prompt", view["prompt"])
    _texts(console, "Reply as it came", view["reply"])
    _texts(console, "Command", view["command"], lexer)
    for note in view["notes"]:
        _line(console, Text(escape_controls(f"Note: {note}"), style="italic"))
    _texts(console, "Command when the reply is read leniently", view["lenient"], lexer)
    if view["facts"]:
        _heading(console, "Answer and score")
        _facts(console, view["facts"])
    for run in view["runs"]:
        _run(console, run)
    if full:
        _heading(console, "Provenance")
        _line(
            console,
            Text(escape_controls(json.dumps(view["provenance"], indent=2, ensure_ascii=False))),
        )
        for name in view["files"]:
            _line(console, Text(str(Path(results) / name), style="dim"))
    _heading(console, cell_title(cell))
    failure = (records.score.failure_class if records.score else None) or ""
    _verdict(console, records.score.passed if records.score else None, view["why"], failure)


def terminal(stream: Any = None) -> Console:
    """A console that colours for a terminal and prints plain text to anything else."""
    stream = stream or sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False, markup=False)
    return Console(file=stream, highlight=False, markup=False, color_system=None, width=WIDTH)


def _task_of(cell: Cell) -> Task | None:
    try:
        folder = task_folder(cell.task)
        return load_task(folder) if folder else None
    except UserError:  # a record can outlive its task; everything else of it is still shown
        return None


def _line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)


def _heading(console: Console, title: str) -> None:
    _line(console, Text(f"\n{escape_controls(title)}", style="bold"))
    _line(console, Text("─" * min(len(title), 72), style="dim"))


def _texts(
    console: Console, title: str, part: dict[str, Any] | None, lexer: str | None = None
) -> None:
    if part is not None:
        _heading(console, title)
        _excerpt(console, part, lexer)


def _excerpt(console: Console, part: dict[str, Any], lexer: str | None = None) -> None:
    if not part["bytes"]:
        _line(console, Text("empty", style="dim"))
        return
    head = escape_controls(part["head"].removesuffix("\n"))
    highlighted = (
        Syntax("", lexer, theme="ansi_dark").highlight(head)
        if lexer and console.color_system
        else Text(head)
    )
    highlighted.rstrip()
    _line(console, highlighted)
    if part["left_out"]:
        gap = f"… {part['left_out']:,} characters left out; {bytes_text(part['bytes'])} in all …"
        _line(console, Text(gap, style="italic"))
        _line(console, Text(escape_controls(part["tail"])))


def _facts(console: Console, pairs: list[list[str]]) -> None:
    width = max(len(label) for label, _ in pairs)
    for label, value in pairs:
        _line(console, Text.assemble((f"{label:<{width}}  ", "dim"), escape_controls(value)))


def _verdict(console: Console, passed: bool | None, why: str, failure: str = "") -> None:
    words, style = ENDS[passed]
    mark = mark_of("passed" if passed else "missing" if passed is None else failure)
    named = f" ({failure})" if failure else ""
    _line(
        console,
        Text.assemble(
            (f"{mark} {words}{named}", f"bold {style}"), escape_controls(f": {why}" if why else "")
        ),
    )


def _run(console: Console, run: dict[str, Any]) -> None:
    _heading(console, run["title"])
    _verdict(console, run["passed"], run["why"])
    _facts(console, run["facts"])
    diff = run["diff"]
    if diff:
        count = f"{diff['same']} as expected, - {diff['missing']} not printed, + {diff['extra']} not expected"
        left = diff["same"] + diff["missing"] + diff["extra"] - len(diff["rows"])
        _line(
            console,
            Text(
                f"Expected and printed, in lines: {count}" + (f"; {left} not shown" if left else "")
            ),
        )
        for op, text in diff["rows"]:
            sign, style = OPS[op]
            _line(console, Text(sign + escape_controls(text), style=style))
    for title, name in (("Standard output", "stdout"), ("Standard error", "stderr")):
        part = run[name]
        if part["bytes"] and (name == "stderr" or not diff):
            _line(console, Text(f"{title}, {bytes_text(part['bytes'])}:"))
            _excerpt(console, part)


def _no_such_cell(cell: Cell, results: Path) -> UserError:
    """Names what exists where the cell's path first leaves what exists."""
    there = {
        path.relative_to(results / stage).with_suffix("").parts
        for stage in RECORD_TYPES
        for path in (results / stage).glob("*/*/*/*.json")
    }
    if not there:
        return UserError(
            "no records yet", where=str(results), hint="`make demo` measures some cells"
        )
    wanted = tuple(map(str, astuple(cell)))
    nouns = ("model", "shell", "task", "trial")
    depth = next((d for d in range(4) if all(p[: d + 1] != wanted[: d + 1] for p in there)), 3)
    known = sorted({parts[depth] for parts in there if parts[:depth] == wanted[:depth]})
    if nouns[depth] == "task":
        known = get_close_matches(wanted[depth], known, 5, 0.4) or known
    named = ", ".join(known[:12]) + (f", … ({len(known)} in all)" if len(known) > 12 else "")
    return UserError(
        f"no record of this {nouns[depth]}",
        where=cell.path,
        hint=f"{'/'.join(wanted[:depth]) or results} has: {named}",
    )
