"""Markdown tables that also read as plain text: padded columns, right-aligned numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], align: str = "") -> str:
    """A table; `align` holds one of `l`, `r`, `c` for each column (default left). Cells are Markdown already.

    Text that is not this project's own must have passed `escape.text` before.
    """
    align = (align + "l" * len(headers))[: len(headers)]
    cells = [[str(cell) for cell in row] for row in rows]
    for row in [list(headers), *cells]:
        if len(row) != len(headers):
            raise ValueError(f"a row of {len(row)} cells under {len(headers)} headers: {row}")
        for cell in row:
            if "\n" in cell or "|" in cell:
                raise ValueError(f"a table cell cannot hold a newline or a bar: {cell!r}")
    widths = [max(3, *(width(row[i]) for row in [list(headers), *cells])) for i in range(len(headers))]
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
