"""The voice of a run: lines for the person at the terminal, on standard error; standard output is for results."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from contextlib import suppress

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode's categories of characters that a terminal obeys or hides."""


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


def escape_controls(text: str) -> str:
    """A text with every character that cannot be seen written as an escape; line ends and tabs stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(_escaped(c) if c not in "\n\t" and unicodedata.category(c) in UNSEEN else c for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
