"""Sentences that more than one place says, and numbers in them."""

from __future__ import annotations

NOTHING_TO_DO = "Nothing to do: every record is there and up to date."


def counted(number: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
