"""The provenance as lines at the report's end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.provenance import Provenance

MANY = 8
ELSEWHERE = {"schema_version", "decision", "task_sha256", "registration", "deviations", "conditions", "limits"}
"""What the report states in other places, from the study."""


def facts_of(provenance: Provenance) -> list[tuple[str, str]]:
    """Every fact as (dotted key, value), in a fixed order; what is empty is left out, an unknown commit is said."""
    values = provenance.model_dump(mode="json", exclude=ELSEWHERE)
    values["image"], values["engine"] = values.pop("images"), values.pop("engines")
    head = [("commit", "commit"), ("uncommitted changes", "dirty"), ("version", "version")]
    stated = [(title, values.pop(key)) for title, key in head]
    facts = [(title, "unknown" if value is None else _shown(value)) for title, value in stated]
    for key in ("config_files", "start_up_s", *sorted(values.keys() - {"config_files", "start_up_s"})):
        if values[key] is not None:
            facts += _flat(key, values[key])
    return facts


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [fact for name in sorted(value, key=str) for fact in _flat(f"{key}.{name}", value[name])]
    if isinstance(value, list):
        if len(value) == 1:
            return _flat(key, value[0])
        if any(isinstance(item, Mapping | list) for item in value):
            return [fact for place, item in enumerate(value) for fact in _flat(f"{key}.{place}", item)]
        if len(value) > MANY:
            digest = sha256(canonical_json([_shown(item) for item in value]))
            return [(key, f"{len(value)} values, SHA-256 of their list {digest}")]
        return [(key, ", ".join(map(_shown, value)))] if value else []
    return [(key, _shown(value))]


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
