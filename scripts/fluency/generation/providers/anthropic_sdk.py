"""The anthropic SDK: imported on the first call (it takes seconds), once, and blind to the environment.

Key and address are passed in, and no header, token, profile or address of the user's shell leaks into a study.
"""

from __future__ import annotations

import functools
import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_environment = threading.Lock()


@functools.cache
def load_sdk() -> tuple[Any, Any]:
    """The SDK and its transport, imported once."""
    with without_environment():
        # Takes two seconds, and reads the environment that is hidden here.
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415
    for name in ("anthropic", "httpx2", "httpcore2"):  # they log a service's headers, in which it may echo the key
        logging.getLogger(name).setLevel(logging.WARNING)
    # 150,000 objects that stay: a collection that walks through them holds up all calls in flight for 0.1 s.
    gc.freeze()
    return anthropic, httpx2


@contextmanager
def without_environment() -> Iterator[None]:
    """Hide ANTHROPIC_* (headers, tokens, addresses, profiles, logging) while the SDK might read it."""
    with _environment:
        hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("ANTHROPIC_")}
        try:
            yield
        finally:
            os.environ.update(hidden)
