"""Attempts at a cell whose command had started and whose result was kept from coming back: few, counted over runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fluency.common.files import pretty_json, write_atomic

MOST_ATTEMPTS = 3


class Attempts:
    """The failed attempts at one cell, in a file; they count while `key`, all that decides the result, is the same."""

    def __init__(self, path: Path, key: str) -> None:
        self.path, self._key = path, key

    @property
    def failed(self) -> list[str]:
        """Why each failed, in order."""
        try:
            kept = json.loads(self.path.read_bytes())
            return [str(why) for why in kept["failed"]] if kept["key"] == self._key else []
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def add(self, why: str) -> list[str]:
        """Keep one more; returns them all."""
        failed = [*self.failed, why]
        write_atomic(self.path, pretty_json({"key": self._key, "failed": failed}))
        return failed


def gave_up(failed: Sequence[str]) -> str | None:
    """Why a cell is not tried again, or None while it has attempts left."""
    if len(failed) < MOST_ATTEMPTS:
        return None
    return f"its command was started {len(failed)} times, and no result came back: {'; '.join(failed)}"
