"""Marks that models and servers leave around an answer: thinking, ends, and more."""

import re
from collections.abc import Iterable

from fluency.common.data_file import data_file

_TABLE = data_file(__file__)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns), re.IGNORECASE)


_OPENS = _any_of(_TABLE["thinking"])
_CLOSE = _any_of(_TABLE["thinking"].values()).pattern
# A mark in quotes is part of a command.
_CLOSES = re.compile(rf"(?<![\'\"`/\\])(?:{_CLOSE})(?![\'\"`/\\])", re.IGNORECASE)
_END = re.compile(rf"\s{{0,9}}(?:{_any_of(_TABLE['ends']).pattern})\s{{0,9}}\Z", re.IGNORECASE)
_END_LENGTH, _MOST_ENDS = 64, 20
WRAPPERS, READINGS = (
    [
        (note, re.compile(pattern, re.IGNORECASE | re.DOTALL))
        for note, patterns in _TABLE[kind].items()
        for pattern in patterns
    ]
    for kind in ("wrappers", "readings")
)
"""The note of each lenient reading, and its pattern."""


def thinking_end(text: str) -> int:
    """Where the answer begins in a text that starts with thinking; 0 without thinking.

    Some servers send only the closing mark.
    """
    closes = [*_CLOSES.finditer(text)]
    last = closes[-1] if closes else _OPENS.match(text)
    return last.end() if last else 0


def without_end_marks(text: str) -> str:
    """The text without marks at its end."""
    end = len(text)
    for _ in range(_MOST_ENDS):
        if not (found := _END.search(text, max(0, end - _END_LENGTH), end)):
            break
        end = found.start()
    return text[:end].strip()
