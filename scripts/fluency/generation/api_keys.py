"""The API key: from the environment only, into headers only."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fluency.common.errors import StopRun
from fluency.core.study import ModelConfig

NO_KEY = "no-key"
REMOVED = "[key removed]"
SHORTEST_SECRET = 12
"""Shorter keys are the dummies of local servers (`EMPTY`, `test`): common words, no secrets."""


def is_embedded(model: ModelConfig) -> bool:
    """Whether the run itself serves a model."""
    return model.served_by == "embedded"


def needs_key(model: ModelConfig) -> bool:
    """Whether a model can only be asked with a key."""
    return model.key_required and not is_embedded(model)


def key_of(model: ModelConfig, environ: Mapping[str, str]) -> str:
    """The key of a model, or NO_KEY where none is needed.

    StopRun if it is missing or cannot be sent.
    """
    if not needs_key(model):
        return NO_KEY
    name, where = model.api_key_env, f"models: {model.alias}: api_key_env"
    key = environ.get(name, "").strip()
    if not key:
        hint = f"export {name}=… and run again; `make demo` and `make plan` need no key"
        raise StopRun(f"the environment variable {name} is not set", where=where, hint=hint)
    if not key.isascii() or not key.isprintable() or " " in key:
        what = f"the key in {name} holds a blank or another character that no key has"
        raise StopRun(what, where=where, hint="copy the key again")
    return key


def redact(text: str, key: str) -> str:
    """The text without the key, also where JSON escapes some of its characters."""
    if len(key) < SHORTEST_SECRET:
        return text
    forms = ((re.escape(c), f"u(?i:{ord(c):04x})") for c in key)
    written = (rf"(?:\\{{0,4}}{plain}|\\{{1,4}}{code})" for plain, code in forms)
    return re.sub("".join(written), REMOVED, text)
