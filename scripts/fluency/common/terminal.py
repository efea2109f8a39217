"""The voice of a run: lines for the person at the terminal, on standard error; standard output is for results."""

from __future__ import annotations

import sys
from collections.abc import Callable

Say = Callable[[str], object]


def say(text: str) -> None:
    """One line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)
