"""The file of a pre-registration, which carries the SHA-256 of its own content; light to import, every run reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.self_hash import KEY, has_valid_self_hash

SCHEMA_VERSION = 2
"""2: hashes are of RFC 8785 JSON; 1: of Python's own."""
KIND = "pre-registration"


def read_registration(path: Path) -> dict[str, Any]:
    """A registration; UserError when it is missing, edited, or from a newer version."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            "there is no such registration", where=str(path), hint="`make preregister` writes one; mind the path"
        ) from None
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise UserError("this is not a registration", where=str(path), hint="name the file `make preregister` wrote")
    version = document.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UserError(
            f"the registration is of schema {version}, this version reads up to {SCHEMA_VERSION}",
            where=str(path),
            hint="update this project",
        )
    if not has_valid_self_hash(document):
        raise UserError(
            f"the registration was edited after it was made: its {KEY} does not fit its content",
            where=str(path),
            hint="take the file back from version control; what changed belongs into the study's file",
        )
    return document
