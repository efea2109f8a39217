"""What of a score and of the table is judgement: what a later version may not judge otherwise, however it words it."""

from __future__ import annotations

import csv
import io

from fluency.archive.findings import Truth
from fluency.core.records import Score
from fluency.core.shells import EXTRA_CONDITIONS

_OUTCOMES = ("passed", "structural_pass", "exit_ok", "content_ok", "lenient_passed", "no_unix_tools_passed")
_MARKS = (*_OUTCOMES, *(condition.mark for condition in EXTRA_CONDITIONS if condition.mark not in _OUTCOMES))
COPIED = ("model", "shell", "task", "trial", "status", *_OUTCOMES, "worlds_passed", "worlds_run")
"""Columns that stand in the records as they stand in the table, whatever code laid it."""
WORDS = frozenset({"reason", "failure_class", "why", "made_of", "commands", "side_effects"})
"""Columns that a version may put otherwise."""


def judgement_of(score: Score) -> dict[str, object]:
    """What a score says of passing, of the cell and of each world, without classes and reasons."""
    worlds = {
        (world.seed, world.condition, world.reading): (world.passed, world.exit_ok, world.structural, world.content)
        for world in score.worlds
    }
    return {name: getattr(score, name) for name in ("cell", "request_key", "not_measured", *_MARKS)} | {
        "worlds": worlds
    }


def table_difference(archived: bytes, made: bytes) -> tuple[Truth, bool]:
    """In what the table of other code differs from the one made anew, and whether that contradicts the records."""
    one, two = _rows(archived), _rows(made)
    shared = set(one[0]) & set(two[0]) if one and two else set()
    copied = set(COPIED) | (shared & set(_MARKS))
    if _part(one, copied) != _part(two, copied):
        return "judgement", True
    return ("words" if _part(one, shared - WORDS) == _part(two, shared - WORDS) else "judgement"), False


def _rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8", "replace"), newline="")))


def _part(rows: list[dict[str, str]], columns: set[str]) -> list[dict[str, str | None]]:
    return [{name: row.get(name) for name in columns} for row in rows]
