"""One cell in a terminal: what the explorer shows of it, where the records are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from rich import filesize
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.common.words import escape_controls
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, load_records, record_path
from fluency.core.tasks import Task, load_task, task_folders
from fluency.report.cell_view import cell_view
from fluency.report.marks import mark_of

STYLES = {"-": "red", "+": "cyan", "=": ""}


def show(cell: Cell, results: Path = RESULTS, *, full: bool = False) -> None:
    """Print what is recorded of one cell, its verdict last; only a terminal gets colour.

    Control characters, terminal escapes and direction marks of a reply or an output are printed as
    escapes, so that no record can write to the reader's terminal.

    Args:
        cell: The cell.
        results: The folder with the records.
        full: Whether to print the provenance and the records' paths too.

    Raises:
        UserError: Nothing is recorded of the cell.
    """
    stages = {stage: results / stage for stage in RECORD_TYPES}
    if not any(record_path(results, stage, cell).exists() for stage in stages):
        there = {
            path.relative_to(folder).with_suffix("").as_posix()
            for folder in stages.values()
            for path in folder.glob("*/*/*/*.json")
        }
        alike = ", ".join(get_close_matches(cell.path, sorted(there), n=5, cutoff=0))
        hint = f"recorded: {alike or 'nothing yet; `make demo` measures some cells'}"
        raise UserError("no record of this cell", where=cell.path, hint=hint)
    colours: Literal["auto"] | None = "auto" if sys.stdout.isatty() else None
    console = Console(highlight=False, markup=False, color_system=colours)
    for line in _lines(cell, results, full):
        console.print(line, soft_wrap=True)


def _lines(cell: Cell, results: Path, full: bool) -> Iterator[Text]:
    records = load_records(results, cell)
    view = cell_view(cell, records, _task_of(cell))
    lexer = SHELLS[cell.shell].lexer
    yield from _section("Prompt", view["prompt"])
    yield from _section("Reply as it came", view["reply"])
    yield from _section("Command", view["command"], lexer)
    for note in view["notes"]:
        yield _text(f"Note: {note}", "italic")
    yield from _section("Command when the reply is read leniently", view["lenient"], lexer)
    if view["facts"]:
        yield _heading("Answer and score")
        yield from _facts(view["facts"])
    for run in view["runs"]:
        yield from _run(run)
    if full:
        yield _heading("Provenance")
        yield _text(json.dumps(view["provenance"], indent=2, ensure_ascii=False))
        for stage in view["provenance"]:
            yield _text(str(record_path(results, stage, cell)), "dim")
    title = SHELLS[cell.shell].title
    yield _heading(f"{cell.model}, {title}, {cell.task}, trial {cell.trial}")
    score = records.score
    failure = (score.failure_class if score else None) or ""
    yield _verdict(score.passed if score else None, view["why"], failure)


def _task_of(cell: Cell) -> Task | None:
    with suppress(UserError):  # a record can outlive its task; its rest is still shown
        folder = task_folders().get(cell.task)
        return load_task(folder) if folder else None
    return None


def _text(text: str, style: str = "") -> Text:
    return Text(escape_controls(text), style=style)


def _heading(title: str) -> Text:
    return _text(f"\n{title}", "bold").append("\n" + "─" * min(len(title), 72), "not bold dim")


def _section(title: str, part: dict[str, Any] | None, lexer: str = "text") -> Iterator[Text]:
    if part is not None:
        yield _heading(title)
        yield from _excerpt(part, lexer)


def _excerpt(part: dict[str, Any], lexer: str = "text") -> Iterator[Text]:
    head = escape_controls(part["head"].removesuffix("\n"))
    coloured = Syntax("", lexer, theme="ansi_dark", tab_size=8).highlight(head)
    coloured.rstrip()
    yield coloured if part["bytes"] else _text("empty", "dim")
    if part["left_out"]:
        size = filesize.decimal(part["bytes"])
        yield _text(f"… {part['left_out']:,} characters left out; {size} in all …", "italic")
        yield _text(part["tail"])


def _facts(pairs: list[list[str]]) -> Iterator[Text]:
    width = max(len(label) for label, _ in pairs)
    for label, value in pairs:
        yield _text(f"{label:<{width}}  ", "dim").append(escape_controls(value), "not dim")


def _verdict(passed: bool | None, why: str, failure: str = "") -> Text:
    words, style, mark = {
        True: ("passed", "green", mark_of("passed")),
        False: ("failed", "red", mark_of(failure)),
        None: ("not judged", "yellow", mark_of("missing")),
    }[passed]
    said = _text(f"{mark} {words}{failure and f' ({failure})'}", f"bold {style}")
    return said.append(escape_controls(why and f": {why}"), "not bold default")


def _run(run: dict[str, Any]) -> Iterator[Text]:
    yield _heading(run["title"])
    yield _verdict(run["passed"], run["why"])
    yield from _facts(run["facts"])
    diff = run["diff"]
    if diff:
        counts = [diff[kind] for kind in ("same", "missing", "extra")]
        left = sum(counts) - len(diff["rows"])
        yield _text(
            "Expected and printed, in lines: {} as expected, - {} not printed, + {} not expected"
            "; {} not shown".format(*counts, left)
        )
        for op, text in diff["rows"]:
            yield _text(f"{op.replace('=', ' ')} {text}", STYLES[op])
    for title, name in (("Standard output", "stdout"), ("Standard error", "stderr")):
        part = run[name]
        if part["bytes"] and (name == "stderr" or not diff):
            yield _text(f"{title}, {filesize.decimal(part['bytes'])}:")
            yield from _excerpt(part)
