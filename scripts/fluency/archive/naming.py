"""What an archive is called: its study, its day, its commit. Of little weight, since every run asks for it."""

from __future__ import annotations

SUFFIX = ".tar.zst"


def archive_name(study: str, utc_date: str, commit: str, *, dirty: bool, partial: bool) -> str:
    """`<study>-<UTC date>-<commit>[-dirty][-partial].tar.zst`; date YYYY-MM-DD, the commit's first 12 digits."""
    marks = ("-dirty" if dirty else "") + ("-partial" if partial else "")
    return f"{study}-{utc_date}-{commit[:12]}{marks}{SUFFIX}"


def private_name(name: str) -> str:
    """The name of the part that holds an archive's private tasks."""
    return f"{name.removesuffix(SUFFIX)}-private{SUFFIX}"
