"""The time as documents hold it: ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now(timespec: str = "seconds") -> str:
    """Now, as 2026-01-31T12:00:00Z; `timespec` is that of `datetime.isoformat`."""
    return datetime.now(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def utc_date() -> str:
    """Today, as 2026-01-31."""
    return utc_now()[:10]
