"""The provenance as facts: (dotted key, text)."""

from collections.abc import Iterator, Mapping
from typing import Any

from fluency.common.canonical import canonical_sha256

MAX_LISTED = 8
_WORDS = {None: "none", True: "yes", False: "no"}


def flat(document: Mapping[str, Any]) -> dict[str, str]:
    """The leaves of a document by their dotted keys, in the order of the keys."""
    return dict(_leaves("", document))


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    items = value if isinstance(value, list) else []
    if len(items) == 1:
        yield from _leaves(key, items[0])
    elif isinstance(value, Mapping) or any(isinstance(item, Mapping | list) for item in items):
        parts = sorted(value.items()) if isinstance(value, Mapping) else enumerate(items)
        for name, item in parts:
            yield from _leaves(f"{key}.{name}" if key else str(name), item)
    elif len(items) > MAX_LISTED:
        digest = canonical_sha256(list(map(shown, items)))
        yield key, f"{len(items)} values, SHA-256 of their list {digest}"
    elif value != []:
        yield key, ", ".join(map(shown, items)) or shown(value)


def shown(value: Any) -> str:
    """A value as people read it."""
    return _WORDS[value] if value is None or isinstance(value, bool) else str(value)
