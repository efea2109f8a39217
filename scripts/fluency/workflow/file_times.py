"""Times of files that a clock wrote which was ahead of this one: brought to the present, in the same order.

Snakemake fails a job whose product is older than its input, and looks at no input that is older than the product. After
the clock was set back, every result lies in the future: nothing that rests on it could be made anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

STEP_NS = 1000  # apart enough for a time that is held as a float of seconds


def bring_to_present(paths: Iterable[str | Path]) -> int:
    """Give files from the future times just before now; how many there were. A file that is not there is none."""
    now = time.time_ns()
    ahead: list[tuple[int, str]] = []
    for path in map(str, paths):
        with suppress(OSError):
            if (written := os.stat(path).st_mtime_ns) > now:
                ahead.append((written, path))
    times = sorted({written for written, _ in ahead})
    place = {written: now - (len(times) - rank) * STEP_NS for rank, written in enumerate(times)}
    for written, path in ahead:
        with suppress(OSError):
            os.utime(path, ns=(place[written], place[written]))
    return len(ahead)
