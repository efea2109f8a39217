"""Where a report's numbers come from; filled by the caller, printed whole at the report's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Provenance:
    """What is known about a run beside its cells; None is unknown and is printed so.

    commit, dirty: of the project's own tree. config_files: path to SHA-256. image: records.ImageInfo as a
    dict, or several by id. start_up_s: shell to median seconds of an empty command in the same image.
    spent_usd: of all calls of this study, also of those whose cells were made anew. registration: path and
    SHA-256 of the pre-registered plan, and whether it still fits. deviations: departures from it, one
    sentence each. more: anything else, printed as key and value.
    """

    commit: str | None = None
    dirty: bool | None = None
    version: str | None = None
    config_files: Mapping[str, str] = field(default_factory=dict)
    lock_sha256: str | None = None
    image: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    start_up_s: Mapping[str, float | None] = field(default_factory=dict)
    spent_usd: float | None = None
    started_utc: str | None = None
    ended_utc: str | None = None
    registration: Mapping[str, Any] | None = None
    deviations: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any] | Provenance | None) -> Provenance:
        """From a plain document: unknown keys are kept under `more`, nulls fall back to the defaults."""
        if isinstance(values, Provenance):
            return values
        values = {key: value for key, value in dict(values or {}).items() if value is not None}
        known = {item.name for item in fields(cls)} - {"more"}
        named = {key: value for key, value in values.items() if key in known}
        if "deviations" in named:
            named["deviations"] = tuple(named["deviations"])
        other = {key: value for key, value in values.items() if key not in known}
        more = {**other.pop("more", {}), **other}
        return cls(**named, more=more)

    def lines(self) -> list[tuple[str, str]]:
        """Every fact as (dotted key, value), in a fixed order; what is empty is left out, unknown is said."""
        known = asdict(self)
        more = known.pop("more")
        facts: list[tuple[str, str]] = []
        for key in ("commit", "dirty", "version"):
            facts.append((key, _shown(known.pop(key))))
        for key in ("deviations", "registration"):
            known.pop(key)
        for key, value in {**known, **more}.items():
            facts.extend(_flat(key, value))
        return facts


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [fact for name in sorted(value, key=str) for fact in _flat(f"{key}.{name}", value[name])]
    if isinstance(value, list | tuple):
        if all(not isinstance(item, Mapping | list | tuple) for item in value):
            return [(key, ", ".join(_shown(item) for item in value))] if value else []
        return [fact for index, item in enumerate(value) for fact in _flat(f"{key}.{index}", item)]
    return [] if value is None else [(key, _shown(value))]


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
