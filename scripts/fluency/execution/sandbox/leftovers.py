"""Containers that must not stay: those of runs that ended, and those that an engine which hung made late."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from typing import Any

from fluency.execution.sandbox import labels
from fluency.execution.sandbox.container import NAME, remove
from fluency.execution.sandbox.engine import Engine


def remove_of_ended_runs(engine: Engine) -> int:
    """Remove the containers that nobody waits for any more; how many there were."""
    removed = 0
    found = engine.client().containers(all=True, filters={"label": labels.MARK})
    now = _clock(engine, found)
    for container in found:
        if labels.is_gone(container["Labels"].get(labels.LABEL, ""), now - container["Created"]):
            remove(engine, container["Id"])
            removed += 1
    return removed


def remove_unconfirmed(engine: Engine) -> None:
    """Remove what this process asked for in vain and what is there now; does nothing where all was confirmed."""
    if not engine.unconfirmed:
        return
    with contextlib.suppress(Exception):  # an engine that still hangs is told by the execution that follows
        mine = {"label": f"{labels.LABEL}={labels.labels()[labels.LABEL]}"}
        there: set[str] = set()
        for container in engine.client().containers(all=True, filters=mine):
            known = {container["Id"], *(name.lstrip("/") for name in container["Names"])}
            there |= known
            for name in engine.unconfirmed & known:
                remove(engine, name)
        # One that had an id was made, and is gone. One that has but a name may yet be made.
        engine.unconfirmed.difference_update({name for name in engine.unconfirmed - there if not name.startswith(NAME)})


def _clock(engine: Engine, found: list[dict[str, Any]]) -> float:
    """Seconds UTC by the engine's clock, which may be another machine's; asked only where ages matter."""
    if all(labels.can_be_looked_up(container["Labels"].get(labels.LABEL, "")) for container in found):
        return 0.0
    told = engine.client().info().get("SystemTime")
    return datetime.fromisoformat(told).astimezone(UTC).timestamp() if told else time.time()
