"""One run at a time in this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE

LOCK = CACHE / "run.lock"


@contextmanager
def hold_run_lock(path: Path = LOCK) -> Iterator[None]:
    """Keep a second run out of this folder; the kernel lets go when the process ends, however it ends."""

    def refuse(holder: str) -> None:
        raise UserError(
            f"another run is at work in this folder ({holder or 'unknown process'})",
            where=str(path),
            hint="wait for it, or end it: `kill <process>`, or `kill -9` if it hangs; what it measured is kept",
        ) from None

    with file_lock(path, refuse) as handle:
        handle.write(f"process {os.getpid()}")
        handle.flush()
        yield
