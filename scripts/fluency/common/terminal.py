"""Lines for the person at the terminal, on standard error; standard output is for results."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from fluency.common.words import escape_controls


def log_line(text: str) -> None:
    """One line for the person at the terminal."""
    with suppress(OSError, ValueError):  # a closed one ends nothing
        print(escape_controls(text), file=sys.stderr, flush=True)


def print_lines(lines: Iterable[str]) -> None:
    """Lines of a result on standard output; whatever stands in one of them, it stays one line."""
    print("\n".join(map(one_line, lines)))


def one_line(text: str) -> str:
    """A text that may hold others' words as one line that a terminal can only show."""
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")
