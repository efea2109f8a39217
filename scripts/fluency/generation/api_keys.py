"""The API key: from the environment only, into headers only."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fluency.common.errors import StopRun
from fluency.core.study import ModelConfig

NO_KEY = "no-key"
REMOVED = "[key removed]"
SECRET = re.compile(
    r"key(?!word)|auth(?!or(?!i))|token(?!i)|secret|passw|credential|cookie|bearer", re.IGNORECASE
)
"""A header or field of such a name holds a key."""
VARIABLE = re.compile(r"(?:Bearer |Basic )?\$([A-Z_][A-Z0-9_]*)")
LOOPBACK = re.compile(r"(.{1,250}\.)?localhost|127(\.\d+){3}|::1")
"""This machine's names and numbers."""
SHORTEST_SECRET = 12
"""Shorter keys are the dummies of local servers (`EMPTY`, `test`): common words, no secrets."""


def open_secrets(fields: Any, named: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts of fields, at any depth, whose name says that they hold a key."""
    if isinstance(fields, dict):
        for name, value in fields.items():
            yield from open_secrets(value, name if SECRET.search(name) else named)
    elif isinstance(fields, list):
        for value in fields:
            yield from open_secrets(value, named)
    elif named and isinstance(fields, str):
        yield named, fields


def variables_of(model: ModelConfig) -> dict[str, str]:
    """The placeholder of a key in a model's entry -> the environment variable that holds it."""
    texts = open_secrets([model.extra_headers, model.extra_body])
    named = {found[1] for _, text in texts if (found := VARIABLE.fullmatch(text))}
    own = {"$KEY": model.api_key_env} if model.needs_key else {}
    return own | {f"${name}": name for name in sorted(named - {"KEY"})}


def keys_of(model: ModelConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """The placeholder of a key in a model's entry -> the key; `$KEY` is NO_KEY if not needed.

    StopRun if one is missing or cannot be sent.
    """
    keys = {"$KEY": NO_KEY}
    for mark, name in variables_of(model).items():
        where = f"models: {model.alias}: {'api_key_env' if mark == '$KEY' else mark}"
        key = keys[mark] = environ.get(name, "").strip()
        if not key:
            hint = f"export {name}=… and run again; `make demo` and `make plan` need no key"
            raise StopRun(f"the environment variable {name} is not set", where=where, hint=hint)
        if not key.isascii() or not key.isprintable() or " " in key:
            what = f"the key in {name} holds a blank or another character that no key has"
            raise StopRun(what, where=where, hint="copy the key again")
    return keys


def redact(text: str, key: str) -> str:
    """The text without the key, also where JSON escapes some of its characters."""
    if len(key) < SHORTEST_SECRET:
        return text
    forms = ((re.escape(c), f"u(?i:{ord(c):04x})") for c in key)
    written = (rf"(?:\\{{0,4}}{plain}|\\{{1,4}}{code})" for plain, code in forms)
    return re.sub("".join(written), REMOVED, text)
