"""Times as ISO 8601 in UTC."""

from datetime import UTC, datetime


def utc_now(timespec: str = "seconds") -> str:
    """Now, as 2026-01-31T12:00:00Z; `timespec` as in `datetime.isoformat`."""
    return utc_text(datetime.now(UTC), timespec)


def utc_text(time: datetime, timespec: str) -> str:
    """A time in UTC as text."""
    return time.isoformat(timespec=timespec).replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The time that such a text, or a date alone, states; ValueError if it states none."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None and len(text) > 10:
        raise ValueError("the time has no zone")
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def is_time(text: object) -> bool:
    """Whether a document's value states a time."""
    try:
        return isinstance(text, str) and bool(parse_time(text))
    except ValueError:
        return False


def utc_date() -> str:
    """Today, as 2026-01-31."""
    return utc_now()[:10]
