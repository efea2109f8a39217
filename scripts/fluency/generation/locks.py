"""Locks between processes and threads that the kernel releases when their holder dies."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fluency.common.errors import CallError
from fluency.common.files import in_folder, sha256

FIRST_POLL_S, LONGEST_POLL_S = 0.001, 0.05


@contextmanager
def exclusive(
    path: Path, name: str, *, while_waiting: Callable[[], None] = lambda: None, timeout_s: float
) -> Iterator[None]:
    """Hold `name` among all who lock names in the file `path`.

    `while_waiting` runs between tries and may raise to give up; CallError after `timeout_s` seconds. A name is a
    byte of the file, far beyond its end: a file for each name would have to be made and removed each time, which
    ext4 makes dearer the more files were removed in the last seconds.
    """
    byte = int(sha256(name)[:15], 16)
    # A descriptor of its own: the lock belongs to it, so that threads exclude each other too.
    handle = in_folder(path, lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
    try:
        end, poll_s = time.monotonic() + timeout_s, FIRST_POLL_S
        while not _try(handle, byte):
            while_waiting()
            if time.monotonic() > end:
                raise CallError(
                    f"another run has held this answer for {timeout_s:.0f} s",
                    where=f"{path}: {name}",
                    hint="let the other run finish, or end it; then run again",
                )
            time.sleep(poll_s)
            poll_s = min(2 * poll_s, LONGEST_POLL_S)
        yield
    finally:
        os.close(handle)


def _try(handle: int, byte: int) -> bool:
    """Lock one byte of the open file unless somebody else has it."""
    # struct flock: type, whence, start, length, pid (0 for locks of open files).
    wanted = struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True
