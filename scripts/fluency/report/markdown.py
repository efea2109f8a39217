"""Markdown tables that also read as plain text, and others' words made harmless in Markdown and the HTML made of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from fluency.common.words import escape_controls


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], align: str = "") -> str:
    """A table; `align` holds one of `l`, `r`, `c` for each column (default left). Cells are Markdown already.

    Text that is not this project's own must have passed `text` before.
    """
    align = (align + "l" * len(headers))[: len(headers)]
    cells = [[str(cell) for cell in row] for row in rows]
    for row in [list(headers), *cells]:
        if len(row) != len(headers):
            raise ValueError(f"a row of {len(row)} cells under {len(headers)} headers: {row}")
        for cell in row:
            if "\n" in cell or "|" in cell:
                raise ValueError(f"a table cell cannot hold a newline or a bar: {cell!r}")
    widths = [
        max(3, *(width(row[i]) for row in [list(headers), *cells])) for i in range(len(headers))
    ]
    rule = [
        {"l": "-" * w, "r": "-" * (w - 1) + ":", "c": ":" + "-" * (w - 2) + ":"}[a]
        for w, a in zip(widths, align, strict=True)
    ]
    lines = [_line(headers, widths, align), "| " + " | ".join(rule) + " |"]
    lines += [_line(row, widths, align) for row in cells]
    return "\n".join(lines)


def width(text: str) -> int:
    """Columns a text takes in a terminal."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = []
    for cell, size, side in zip(cells, widths, align, strict=True):
        blanks = " " * (size - width(cell))
        padded.append(blanks + cell if side == "r" else cell + blanks)
    return "| " + " | ".join(padded) + " |"


LIMIT = 240
_QUIET = set(" .,-/()'+=%:;?")
_ADDRESS = re.compile(r"(?i):(?=//)|(?<=www)\.")


def visible(text: str, limit: int = LIMIT) -> str:
    """One line: newlines as ⏎, tabs as ⇥, invisible characters as escapes, long text cut and marked."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return escape_controls(cut.replace("\r\n", "\n")).replace("\n", "⏎").replace("\t", "⇥")


def code(text: str | None, limit: int = LIMIT) -> str:
    """A Markdown code span that holds exactly the visible text; not for table cells (see `text`)."""
    shown = visible(text or "", limit)
    if not shown.strip():
        return "(nothing)"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


_SPAN = re.compile(r"&#96;([\w.,/=:-]+(?: [\w.,/=:-]+)*)&#96;", re.ASCII)


def text(value: object, limit: int = LIMIT) -> str:
    """Plain words for prose and table cells: what Markdown or HTML could interpret becomes an entity.

    Code spans of plain words and blanks are left as they are.
    """
    shown = visible(str(value), limit)
    addresses = {match.start() for match in _ADDRESS.finditer(shown)}
    escaped = "".join(
        char if _is_quiet(shown, place) and place not in addresses else f"&#{ord(char)};"
        for place, char in enumerate(shown)
    )
    return _SPAN.sub(r"`\1`", escaped)


def _is_quiet(text: str, place: int) -> bool:
    char, before, following = (
        text[place],
        text[max(place - 1, 0) : place],
        text[place + 1 : place + 2],
    )
    if char.isalnum() or char in _QUIET or ord(char) > 127:
        return True
    if char == "[":
        return following.isalnum() and before != "!"
    if char == "]":
        return following == " "  # neither a link nor a definition can follow it then
    return (char == "_" and _inside_word(text, place)) or (char in "<@" and following.isdigit())


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()
