"""What calls have cost, written down as it is spent: for other runs on the same store, and for later ones.

`answers/spending.log` has a line for each call: dollars, key of the request, `kept` or `lost`, and who asked. Answers
say themselves what they cost; of replies that came and are of no use, or that no disk took, this is the only trace. A
line that the store's disk does not take is written where answers are held then (`shelter.py`).
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from fluency.generation.shelter import Shelter

_WHO = re.compile(r"\d+-[0-9a-f]{16}", re.ASCII)


class Spent(NamedTuple):
    """One line: dollars for a request; `lost` if nothing came of it, `by` a run."""

    dollars: float
    key: str
    lost: bool
    by: str


class SpendingLog:
    """The log of one store, as one run writes and reads it; safe for threads and processes."""

    def __init__(self, path: Path, shelter: Shelter | None = None) -> None:
        self.path, self._shelter = path, shelter
        self._own, self._change = f"{os.getpid()}-{secrets.token_hex(8)}", Lock()
        self._read_to: dict[Path, int] = {}
        self._by_others = 0.0
        for log in self._logs():
            with suppress(OSError):
                self._read_to[log] = log.stat().st_size

    def add(self, dollars: float, key: str, *, lost: bool) -> bool:
        """Write down what a call has cost (or, below 0, that it has not); False if no disk takes the line.

        That is no reason to lose an answer.
        """
        if not dollars:
            return True
        # Begun anew, so that a line that the disk cut off does not spoil the next one.
        line = f"\n{dollars!r} {key} {'lost' if lost else 'kept'} {self._own}\n".encode()
        elsewhere = (folder / self.path.name for folder in self._shelter.made()) if self._shelter else ()
        return any(_appended(log, line) for log in chain((self.path,), elsewhere))

    def by_others(self) -> float:
        """Dollars that other runs have spent since this one opened the store."""
        with self._change:
            for log in self._logs():
                with suppress(OSError):
                    if log.stat().st_size > self._read_to.get(log, 0):
                        for spent in self._lines(log):
                            self._by_others += 0.0 if spent.by == self._own else spent.dollars
        return self._by_others

    def lost(self) -> dict[str, float]:
        """Dollars by request for replies of no use and answers that were lost, whoever asked."""
        found: dict[str, float] = {}
        for log in self._logs():
            with suppress(OSError):
                for spent in _parsed(log.read_bytes()):
                    if spent.lost:
                        found[spent.key] = found.get(spent.key, 0.0) + spent.dollars
        return {key: dollars for key, dollars in found.items() if dollars}

    def bring_home(self) -> list[Path]:
        """Move lines that are held elsewhere to where they belong; the files that they came from."""
        moved = []
        for log in self._logs()[1:]:
            # Taken away first: a line that another run adds meanwhile begins a new file.
            own = log.with_name(f"{self.path.stem}-{secrets.token_hex(8)}{self.path.suffix}")
            with suppress(OSError):
                log.rename(own)
                if _appended(self.path, own.read_bytes()):
                    own.unlink()
                    moved.append(log)
        return moved

    def _logs(self) -> list[Path]:
        return [self.path, *(self._shelter.files(f"{self.path.stem}*", "log") if self._shelter else ())]

    def _lines(self, log: Path) -> Iterator[Spent]:
        """Whole lines that nobody has read yet."""
        start = self._read_to.get(log, 0)
        with log.open("rb") as stream:
            stream.seek(start)
            data, _, _ = stream.read().rpartition(b"\n")
        self._read_to[log] = start + len(data)
        return _parsed(data)


def _appended(log: Path, data: bytes) -> bool:
    """Whether a file has taken all of the bytes at its end."""
    with suppress(OSError):
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            return os.write(handle, data) == len(data)
        finally:
            os.close(handle)
    return False


def _parsed(data: bytes) -> Iterator[Spent]:
    for line in data.decode(errors="replace").splitlines():
        with suppress(ValueError):
            dollars, key, kind, by = line.split()
            if _WHO.fullmatch(by):  # else the disk cut the line off, and it was written elsewhere
                yield Spent(float(dollars), key, kind == "lost", by)
