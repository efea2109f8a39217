"""The provenance as lines at the report's end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS

MANY = 8
ELSEWHERE = {
    "schema_version",
    "decision",
    "task_sha256",
    "registration",
    "deviations",
    "conditions",
    "limits",
    "first_answer_utc",
}
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


def other_builds(provenance: Provenance) -> list[str]:
    """A sentence for each shell that was not the official release's build, since a verdict is on that build then."""
    found = {(shell, image.archives.get(shell, "unknown")) for image in provenance.images for shell in image.unofficial}
    return [
        f"{SHELLS[shell].short_title if shell in SHELLS else shell} here is another build than the official release's "
        f"(its archive has SHA-256 {digest}): what is said of it is said of that build."
        for shell, digest in sorted(found)
    ]


def registered_how(provenance: Provenance) -> tuple[str, str]:
    """How a registration stands to the first answer, in two or three words and in a sentence; empty without one."""
    made, first = provenance.registration, provenance.first_answer_utc
    if made is None:
        return "", ""
    if made.utc is None:
        return "Registered", "at a time that is not known: the registration is of an older form that does not say it."
    tree = "" if made.dirty is None else ", with uncommitted changes" if made.dirty else ", with no uncommitted change"
    commit = f"at commit {made.commit}{tree}" if made.commit else "at a commit that is not known"
    said = f"on {made.utc} {commit}; " + (f"the first answer came {first}." if first else "no answer has come yet.")
    told = {True: "Registered in advance", False: "Registered, but not in advance", None: "Registered"}
    return told[made.precedes(first)], f"{said} A clock can be set: what proves the order is in docs/archive.md."


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
