"""Whose doing it is when no result comes back: the command's once it had started, unless the engine went away or
somebody outside ended the container."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import docker.errors

from fluency.common.errors import Interrupted, SandboxError
from fluency.core.records import Result, Stream, Used
from fluency.execution.sandbox.container import NEXT_RUN, WHERE, Talk, remove
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.protocol import decode, read_start

# What the engine notes of a container that somebody else than its own processes changed.
OUTSIDE = {"kill", "stop", "pause", "unpause", "restart", "update", "checkpoint"}
DIED = {"die", "died"}
END_S = 15.0


class Ending(NamedTuple):
    """How a container ended, as its engine tells it; `own`: by what runs in it."""

    own: bool
    why: str
    out_of_memory: bool = False


def result_of(engine: Engine, talk: Talk, nonce: str) -> Result:
    """The result in what a container said, or the lost result of a command that had started.

    SandboxError if the command had not started; Interrupted if it had, and the engine or somebody outside ended it.
    """
    started = read_start(talk.output, nonce)
    try:
        if talk.failure is not None:
            raise talk.failure
        if not talk.output:
            raise SandboxError("the container ended without a result", where=WHERE, hint=NEXT_RUN)
        return decode(talk.output, nonce)
    except SandboxError as error:
        if started is None and (talk.failure or talk.output):
            raise
        ending = how_it_ended(engine, talk, error)
        if started is None:
            raise SandboxError(f"{error.what}: {ending.why}", where=error.where, hint=error.hint) from None
        if not ending.own:
            raise Interrupted(ending.why, where=WHERE, hint="the next run tries the cell again, a few times") from None
        return Result(
            exit_code=None,
            stdout=Stream.of(b""),
            stderr=Stream.of(b""),
            wall_s=round(talk.seconds, 6),
            used=Used(oom_killed=ending.out_of_memory),
            processes=started.processes,
            lost=ending.why,
        )
    finally:
        if talk.failure is not None:
            remove(engine, talk.container)


def how_it_ended(engine: Engine, talk: Talk, error: SandboxError) -> Ending:
    """Read from the engine; what it cannot tell any more counts as the engine's own failure."""
    if talk.engine_failed:
        return Ending(False, error.what)
    try:
        client = engine.patient_client(20)
        if talk.failure is not None and _state(client, talk.container).get("Running"):
            paused = _state(client, talk.container).get("Paused")
            return Ending(False, "somebody paused the container") if paused else Ending(True, error.what)
        events = _events(client, talk)
    except Exception as gone:
        return Ending(False, f"the engine went away: {' '.join(str(gone).split())[:160]}")
    actions = {str(event.get("Action")) for event in events}
    last = [event for event in events if event.get("Action") in DIED][-1:]
    if actions & OUTSIDE:
        return Ending(False, f"somebody outside ended the container ({', '.join(sorted(actions & OUTSIDE))})")
    if not last:
        return Ending(False, "the engine does not know how the container ended")
    code = last[0]["Actor"]["Attributes"].get("exitCode")
    if "oom" in actions:
        return Ending(True, "the memory limit ended the runner itself", True)
    said = bytes(talk.streams[2]).decode("utf-8", "replace").strip().splitlines()[-1:]
    told = f"exit code {code}" + (f", {said[0][:200]}" if said else "")
    if str(code) == "0":
        return Ending(False, "the engine lost what the runner said")
    return Ending(True, error.what if talk.output.count(b"\n") and str(code) == "3" else told)


def _state(client: Any, container: str) -> dict[str, Any]:
    try:
        return dict(client.inspect_container(container)["State"])
    except docker.errors.NotFound:
        return {}


def _events(client: Any, talk: Talk) -> list[dict[str, Any]]:
    """The engine's events about a container up to its end, and for a moment after it, since they may come late."""
    deadline, over = time.monotonic() + END_S, False
    while True:
        seen = list(
            client.events(
                since=int(talk.began) - 1,
                until=int(time.time()) + 1,
                filters={"container": talk.container},
                decode=True,
            )
        )
        if over or time.monotonic() > deadline:
            return seen
        over = any(event.get("Action") in DIED for event in seen)
