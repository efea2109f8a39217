"""A service that is made at its first use, once for all threads."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

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
