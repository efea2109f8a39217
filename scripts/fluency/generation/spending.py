"""What calls have cost, written down as it is spent: for other runs on the same store, and for later ones.

`answers/spending.log` has a line for each call: dollars, key of the request, `kept` or `lost`, and who asked. Answers
say themselves what they cost; of replies that came and are of no use this is the only trace.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple


class Spent(NamedTuple):
    """One line: dollars for a request; `lost` if nothing came of it, `by` a run."""

    dollars: float
    key: str
    lost: bool
    by: str


class SpendingLog:
    """The log of one store, as one run writes and reads it; safe for threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own, self._change = f"{os.getpid()}-{secrets.token_hex(8)}", Lock()
        self._read_to, self._by_others = 0, 0.0
        with suppress(OSError):
            self._read_to = path.stat().st_size

    def add(self, dollars: float, key: str, *, lost: bool) -> None:
        """Write down what a call has cost; a disk that takes no line is no reason to lose an answer."""
        if dollars:
            # Begun anew, so that a line that the disk cut off does not spoil the next one.
            line = f"\n{dollars!r} {key} {'lost' if lost else 'kept'} {self._own}\n"
            with suppress(OSError):
                handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
                try:
                    os.write(handle, line.encode())
                finally:
                    os.close(handle)

    def by_others(self) -> float:
        """Dollars that other runs have spent since this one opened the store."""
        with self._change, suppress(OSError):
            if self.path.stat().st_size > self._read_to:
                for spent in self._lines():
                    self._by_others += 0.0 if spent.by == self._own else spent.dollars
        return self._by_others

    def lost(self) -> dict[str, float]:
        """Dollars by request for replies of no use, whoever asked."""
        found: dict[str, float] = {}
        with suppress(OSError):
            for spent in _parsed(self.path.read_bytes()):
                if spent.lost:
                    found[spent.key] = found.get(spent.key, 0.0) + spent.dollars
        return found

    def _lines(self) -> Iterator[Spent]:
        """Whole lines that nobody has read yet."""
        with self.path.open("rb") as stream:
            stream.seek(self._read_to)
            data, _, _ = stream.read().rpartition(b"\n")
        self._read_to += len(data)
        return _parsed(data)


def _parsed(data: bytes) -> Iterator[Spent]:
    for line in data.decode(errors="replace").splitlines():
        with suppress(ValueError):
            dollars, key, kind, by = line.split()
            yield Spent(float(dollars), key, kind == "lost", by)
