"""A lock that other processes see, and a service that is made once."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Generic, TypeVar


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


Service = TypeVar("Service")


class Once(Generic[Service]):
    """A thing made at its first use, once for all threads."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: Service | None = None

    @property
    def made(self) -> Service | None:
        """The thing if it has been made."""
        return self._made

    def __call__(self) -> Service:
        """The thing."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
