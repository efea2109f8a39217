"""Documents that carry the SHA-256 of their own content, so that an edit of theirs shows."""

from __future__ import annotations

from typing import Any

from fluency.common.canonical import canonical_json, hashes_to
from fluency.common.files import sha256

KEY = "sha256"


def with_self_hash(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the SHA-256 of its canonical JSON (without that key) under `sha256`."""
    return {**document, KEY: sha256(canonical_json(_content(document)))}


def has_valid_self_hash(document: dict[str, Any]) -> bool:
    """Whether that hash is there and fits, in today's form or in that of schema 1."""
    return hashes_to(_content(document), document.get(KEY))


def _content(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != KEY}
