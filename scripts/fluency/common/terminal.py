"""Lines for the terminal: messages on standard error, results on standard output."""

import sys
from collections.abc import Iterable
from contextlib import suppress

from fluency.common.words import escape_controls

LONGEST = 4_000
"""Characters of a printed line."""


def log_line(text: str) -> None:
    """A message on standard error."""
    with suppress(OSError, ValueError):  # it may be closed
        print(escape_controls(text), file=sys.stderr, flush=True)


def print_lines(lines: Iterable[str]) -> None:
    """Lines of a result on standard output; each is printed as one line."""
    print("\n".join(map(one_line, lines)))


def one_line(text: str) -> str:
    """A text from anywhere as one line without control characters, cut where it is endless."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")
