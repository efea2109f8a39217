"""The SDKs of the wires: each imported on the first call that needs it, once, and blind to the environment.

Key and address are passed in, and no header, token, profile or address of the user's shell leaks into a study.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_HIDDEN = ("ANTHROPIC_", "OPENAI_", "AZURE_OPENAI_", "AWS_", "GOOGLE_", "CLOUD_ML_")
_environment = threading.Lock()


@functools.cache
def load_sdk(name: str = "anthropic") -> tuple[Any, Any]:
    """An SDK and its transport, imported once."""
    with without_environment():
        # Takes seconds, and reads the environment that is hidden here.
        sdk, httpx = importlib.import_module(name), importlib.import_module("httpx2")
    for logger in (name, "httpx2", "httpcore2"):  # they log a service's headers, in which it may echo the key
        logging.getLogger(logger).setLevel(logging.WARNING)
    # 150,000 objects that stay: a collection that walks through them holds up all calls in flight for 0.1 s.
    gc.freeze()
    return sdk, httpx


@contextmanager
def without_environment() -> Iterator[None]:
    """Hide what the SDKs read (headers, tokens, addresses, profiles, logging) while they might."""
    with _environment:
        hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_HIDDEN)}
        try:
            yield
        finally:
            os.environ.update(hidden)
