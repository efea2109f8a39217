"""A lock between processes, and an object that is made once."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Generic, TypeVar


@contextmanager
def file_lock(path: Path, when_held: Callable[[str], object]) -> Iterator[IO[str]]:
    """Lock `path` in the block; the open file is for the holder's name.

    when_held: called with the name that the present holder wrote; when it returns, the lock is
    waited for.
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
    """An object made at its first use, once for all threads; `made` is None until then."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._make = make
        self._lock = Lock()
        self.made: Service | None = None

    def __call__(self) -> Service:
        """The object."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made
