"""What a person wrote on the command line or after a make target, as values; a mistake is a sentence and a hint."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from fluency.common.errors import UserError

STAGES = ("score", "execute")


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are a user's errors, like all others."""

    def error(self, message: str) -> NoReturn:
        """UserError instead of a usage line and an exit."""
        raise UserError(message, where=self.prog, hint=f"`{self.prog} --help` shows the form; `make` lists the targets")


def archive_file(text: str) -> Path:
    """An archive that is there."""
    form = "for example ARCHIVE=archive/demo-2026-01-31-0123456789ab.tar.zst"
    if not text.strip():
        raise UserError("no archive is named", where="ARCHIVE", hint=f"name its file, {form}")
    path = Path(text)
    if not path.exists():
        raise UserError("there is no such archive", where=text, hint=f"check the name; it is a file, {form}")
    if not path.is_file():
        raise UserError("this is not an archive but a folder", where=text, hint=f"name the file, {form}")
    return path


def seeds(text: str) -> list[int]:
    """Worlds as whole numbers separated by commas; none for an empty text."""
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UserError(
            "these are not seeds", where=f"SEEDS={text}", hint="write whole numbers, for example SEEDS=11,24"
        ) from None
    if min(numbers, default=0) < 0:
        raise UserError("a seed is not negative", where=f"SEEDS={text}", hint="for example SEEDS=11,24")
    return numbers


def stage(text: str) -> str:
    """From which stage on an archive is replayed."""
    if text not in STAGES:
        raise UserError(
            "there is no such stage to replay", where=f"STAGE={text}", hint="write STAGE=score or STAGE=execute"
        )
    return text
