"""The file of a pre-registration, which carries the SHA-256 of its own content; light to import, every run reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fluency.archive.strict_json import untrusted_json
from fluency.common.canonical import KEY, has_valid_self_hash
from fluency.common.clock import parse_time, utc_now
from fluency.common.errors import ArchiveError, UserError

SCHEMA_VERSION = 2
"""2: hashes are of RFC 8785 JSON; 1: of Python's own."""
KIND = "pre-registration"
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def read_registration(path: Path) -> dict[str, Any]:
    """A registration; UserError when it is missing, edited, or from a newer version."""
    try:
        document = untrusted_json(Path(path).read_bytes(), str(path))
    except FileNotFoundError:
        raise UserError(
            "there is no such registration", where=str(path), hint="`make preregister` writes one; mind the path"
        ) from None
    except (OSError, ArchiveError):
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
    _check_time(document, path)
    return document


def _check_time(document: dict[str, Any], path: Path) -> None:
    """UserError for a day or time of registering that is unreadable, or that has not come yet."""
    stated: Any = document.get("registered_utc", document.get("registered"))
    form = _TIME if "registered_utc" in document else _DAY
    try:
        if (
            not form.fullmatch(stated)
            or stated[:10] != document["registered"]
            or parse_time(stated) > parse_time(utc_now())
        ):
            raise ValueError
    except (ValueError, TypeError):
        raise UserError(
            f"the registration says it was made at {ascii(stated)[:40]}, which is no time or has not come yet",
            where=str(path),
            hint="set this machine's clock right; if it is right, register anew",
        ) from None
