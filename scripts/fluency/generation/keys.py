"""The API key: from the environment only, to the wire only."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from functools import cache

from fluency.common.errors import StopRun, UserError
from fluency.core.study import ModelConfig, Study

NO_KEY = "no-key-needed"
REMOVED = "[key removed]"
_KEY_SHAPE = re.compile(r"sk-[A-Za-z0-9_-]{16,}")


def needs_key(model: ModelConfig) -> bool:
    """Whether a model can only be asked with a key."""
    return model.served_by == "endpoint" and model.key_required


def key_of(model: ModelConfig, environ: Mapping[str, str]) -> str:
    """The key of a model, or a stand-in where none is needed; StopRun if it is missing or cannot be sent.

    A model that needs no key is never sent one, whatever the environment holds.
    """
    if not needs_key(model):
        return NO_KEY
    key = environ.get(model.api_key_env, "").strip()
    where = f"models: {model.alias}: api_key_env"
    if not key:
        raise StopRun(
            f"the environment variable {model.api_key_env} is not set",
            where=where,
            hint=f"export {model.api_key_env}=… and run again; `make demo` and `make plan` need no key",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise StopRun(
            f"the key in {model.api_key_env} holds a blank, a line break or a sign that no key has",
            where=where,
            hint="copy the key again",
        )
    return key


def require_keys(study: Study, environ: Mapping[str, str], aliases: Collection[str] | None = None) -> None:
    """UserError for the first model (of `aliases`, if given) whose key is needed and missing."""
    for model in study.models:
        if aliases is None or model.alias in aliases:
            try:
                key_of(model, environ)
            except StopRun as error:
                raise UserError(error.what, where=error.where, hint=error.hint) from None


def without_key(text: str, key: str) -> str:
    """The text without the key, however a service may spell it: escaped for JSON, an address or HTML, hex, Base64."""
    return text if not key or key == NO_KEY else _spellings(key).sub(REMOVED, text)


def redact(text: str, key: str) -> str:
    """The text without the key, and without anything shaped like a key."""
    return _KEY_SHAPE.sub(REMOVED, without_key(text, key))


@cache
def _spellings(key: str) -> re.Pattern[str]:
    """What matches a key in any spelling; the forms as other texts only of one long enough not to be a common word."""
    forms = {key: None}
    if len(key) >= 12:
        forms[key.encode().hex()] = None
        for before in range(3):  # the bytes before it move the borders of Base64's groups of three
            encoded = base64.b64encode(bytes(before) + key.encode()).decode().rstrip("=")
            whole = encoded[(0, 2, 3)[before] : len(encoded) - ((before + len(key)) % 3 > 0)]
            forms |= {whole: None, whole.translate(str.maketrans("+/", "-_")): None}
    return re.compile("|".join("".join(map(_spelled, form)) for form in forms))


def _spelled(sign: str) -> str:
    plain, code = re.escape(sign), ord(sign)
    escaped = rf"\\+(?:u00{code:02x}|x{code:02x})|%(?:25)*{code:02x}|&#0*{code};|&#x0*{code:x};"
    return rf"(?:\\*{plain}|(?i:{escaped}))"
