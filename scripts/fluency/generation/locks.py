"""Locks between processes and threads that the kernel releases when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fluency.errors import CallError

POLL_S = 0.05


@contextmanager
def exclusive(path: Path, *, while_waiting: Callable[[], None] = lambda: None, patience_s: float) -> Iterator[None]:
    """Hold the lock file `path`; it is removed afterwards.

    `while_waiting` runs between tries and may raise to give up; CallError after `patience_s` seconds.
    """
    end = time.monotonic() + patience_s
    while (handle := _try(path) or _try(path)) is None:
        while_waiting()
        if time.monotonic() > end:
            raise CallError(
                f"another run has held this answer for {patience_s:.0f} s",
                where=str(path),
                hint="let the other run finish, or end it; then run again",
            )
        time.sleep(POLL_S)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _try(path: Path) -> int | None:
    """An open, locked descriptor of the file that `path` names now, or None."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder removes the file: whoever then locks the removed one holds nothing.
        if os.fstat(handle).st_ino == os.stat(path).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None
