"""Where a report's numbers come from; filled by the caller, printed whole at the report's end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256

MANY = 8


@dataclass(frozen=True)
class Provenance:
    """What is known about a run beside its cells; None is unknown and is printed so.

    commit, dirty: of the project's own tree. config_files: name to SHA-256. start_up_s: shell to the seconds
    of an empty command in the same image. registration: `path` and `sha256` of the pre-registered plan, empty
    when there is none. deviations: departures from it, one sentence each. more: everything else, printed as
    key and value, but for `decision` and `task_sha256`, which stand elsewhere in the report.
    """

    commit: str | None = None
    dirty: bool | None = None
    version: str | None = None
    config_files: Mapping[str, str] = field(default_factory=dict)
    start_up_s: Mapping[str, float | None] = field(default_factory=dict)
    registration: Mapping[str, Any] = field(default_factory=dict)
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
        named["deviations"] = tuple(map(str, named.get("deviations", ())))
        return cls(**named, more={key: value for key, value in values.items() if key not in known})

    @property
    def registered(self) -> bool:
        """Whether the study follows a registration."""
        return bool(self.registration.get("path"))

    @property
    def start_up(self) -> dict[str, float]:
        """Shell to seconds, for the shells it was measured in."""
        return {shell: seconds for shell, seconds in self.start_up_s.items() if seconds is not None}

    def task_sha256(self, task: Any) -> str:
        """Hash of a task as it was measured, or as it is where that was not recorded."""
        return str(self.more.get("task_sha256", {}).get(task.id, task.sha256))

    def facts(self) -> list[tuple[str, str]]:
        """Every fact as (dotted key, value), in a fixed order; what is empty is left out, unknown is said."""
        facts = [("commit", _shown(self.commit)), ("uncommitted changes", _shown(self.dirty))]
        facts += [("version", _shown(self.version))]
        facts += _flat("config_files", self.config_files) + _flat("start_up_s", self.start_up_s)
        for key, value in sorted(self.more.items()):
            if key not in ("decision", "task_sha256"):
                facts += _flat(key, value)
        return facts


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    value = _parsed(value)
    if isinstance(value, Mapping):
        return [fact for name in sorted(value, key=str) for fact in _flat(f"{key}.{name}", value[name])]
    if isinstance(value, list | tuple):
        items = [_parsed(item) for item in value]
        if any(isinstance(item, Mapping | list | tuple) for item in items):
            if len(items) == 1:
                return _flat(key, items[0])
            return [fact for place, item in enumerate(items) for fact in _flat(f"{key}.{place}", item)]
        if len(items) > MANY:
            digest = sha256(canonical_json([_shown(item) for item in items]))
            return [(key, f"{len(items)} values, SHA-256 of their list {digest}")]
        return [(key, ", ".join(_shown(item) for item in items))] if items else []
    return [(key, "none" if value is None else _shown(value))]


def _parsed(value: Any) -> Any:
    """Documents that were kept as JSON texts, so that they could be told apart, as documents again."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
