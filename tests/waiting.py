"""Waiting for what happens elsewhere."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(what: Callable[[], Found], seconds: float = 20) -> Found:
    """The first true answer of `what`, asked again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")
