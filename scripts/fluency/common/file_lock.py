"""One process at a time: a lock on a file, which the kernel releases however its holder ends."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def file_lock(path: Path, when_held: Callable[[str], object]) -> Iterator[IO[str]]:
    """Hold the lock of `path` and give the open file, in which the holder may write who it is.

    `when_held` is called with what the present holder wrote if somebody has the lock; it may raise to give up, and
    the lock is waited for when it returns.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            when_held(handle.read().strip())
            fcntl.flock(handle, fcntl.LOCK_EX)
        handle.truncate(0)
        yield handle
