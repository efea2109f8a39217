"""Canonical JSON by RFC 8785, and hashes over it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import rfc8785

from fluency.common.files import sha256

EXACT = 2**53 - 1
"""The largest integer up to which a double, and so JSON in other languages, represents every one."""


def canonical_json(value: Any) -> str:
    """The RFC 8785 text of a value; tuples are arrays, and equal integers and floats have the same text.

    ValueError for NaN, infinities, integers beyond EXACT, lone surrogates, keys that are no strings, other types, and
    what nests some hundred levels deep.
    """
    try:
        return rfc8785.dumps(value).decode()
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def legacy_canonical_json(value: Any) -> str:
    """The text that hashes of schema 1 were computed from."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def hashes_to(value: Any, digest: object) -> bool:
    """Whether a digest is the SHA-256 of the value's canonical JSON, in today's form or in that of schema 1."""
    for form in (
        legacy_canonical_json,
        canonical_json,
    ):  # the quicker one first; mostly they give the same text
        with suppress(ValueError, RecursionError):
            if sha256(form(value)) == digest:
                return True
    return False


KEY = "sha256"


def with_self_hash(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 of its canonical JSON (without that key) under `sha256`."""
    return {**document, KEY: sha256(canonical_json(_content(document)))}


def has_valid_self_hash(document: dict[str, Any]) -> bool:
    """Whether that hash is there and correct, also in the form of schema 1."""
    return hashes_to(_content(document), document.get(KEY))


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != KEY}
