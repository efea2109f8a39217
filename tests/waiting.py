"""Waiting for what happens elsewhere."""

import time


def wait_for(what, seconds=20):
    """The first true answer of `what`, asked again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")
