"""How far a download is, as a line now and then: bytes, rate, time left."""

from __future__ import annotations

import time

from fluency.common.terminal import log_line


class Progress:
    """Says at most one line each two seconds, and fewer where a line would show less than a twentieth more."""

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)

    def at(self, done: int, detail: str = "") -> None:
        """`done` of `total` bytes are here."""
        now = time.monotonic()
        if self._first is None:
            self._first = self._last = (now, done)
            return
        waited, gained = now - self._last[0], done - self._last[1]
        if waited < 2 or (gained < self.total / 20 and waited < 15):
            return
        self._last = (now, done)
        rate = (done - self._first[1]) / (now - self._first[0])
        left = f", about {(self.total - done) / rate:.0f} s left" if rate > 0 else ""
        log_line(
            f"weights: {self.name}: {done / 1e6:.0f} of {self.total / 1e6:.0f} MB"
            f"{f' ({detail})' if detail else ''}, {rate / 1e6:.1f} MB/s{left}"
        )
