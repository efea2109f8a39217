"""One container's life, and whose failure a lost result is."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import docker.errors
import requests

from fluency.common.errors import ResultLost, SandboxError
from fluency.core.records import Result, Stream, Used
from fluency.execution.engine import Engine, first_words
from fluency.execution.isolation import MeasureRefused, bound_sockets
from fluency.execution.protocol import decode, read_start

LABEL = "agent-shell-sandbox.execution"
LABELS = {LABEL: "1"}
WHERE = "sandbox"
FRAME = 8
NEXT_RUN = "the cell stays missing and the next run measures it"


@dataclass
class ContainerSession:
    """What came from a container, and when. Times are of the monotonic clock, `began` in seconds UTC."""

    began: float
    container: str = ""
    """Its id; empty until the engine has returned one."""
    streams: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})
    first_line: float | None = None
    """When the first line of standard output had arrived."""
    ended: float = 0.0
    failure: SandboxError | None = None
    """Why its output was not read to the end."""
    engine_failed: bool = False

    @property
    def output(self) -> bytes:
        """Standard output, as far as it arrived."""
        return bytes(self.streams[1])

    @property
    def seconds(self) -> float:
        """From the first line to the end."""
        return self.ended - (self.first_line or self.ended)


def run_container(
    engine: Engine, config: dict[str, Any], sent: bytes, max_bytes: int, timeout_s: float
) -> ContainerSession:
    """Start a container, send it `sent` and read its output; after a `failure` it may still exist, for `remove`."""
    session = ContainerSession(time.time())
    try:
        client = engine.client()
        session.container = client.create_container_from_config(config)["Id"]
        stream = client.attach_socket(
            session.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        with _raw_socket(stream) as connection:
            client.start(session.container)
            bound_sockets(session.container)
            connection.settimeout(timeout_s)
            with contextlib.suppress(
                BrokenPipeError
            ):  # a container that ended at once; its output follows
                connection.sendall(sent)
            _read(connection, session, max_bytes, time.monotonic() + timeout_s)
    except BaseException as error:
        failure = as_sandbox_error(error, timeout_s)
        if not isinstance(failure, SandboxError):
            remove(engine, session.container)
            raise
        session.failure, session.engine_failed = (
            failure,
            not isinstance(error, TimeoutError | SandboxError),
        )
    session.ended = time.monotonic()
    return session


def as_sandbox_error(error: BaseException, timeout_s: float) -> BaseException:
    """The sandbox error for what a client or a socket raised; any other error is returned as it is."""
    said = " ".join(str(getattr(error, "explanation", None) or error).split())
    why = said[:160]
    if isinstance(error, TimeoutError):
        return SandboxError(
            f"the container did not end within {timeout_s:.0f} s", where=WHERE, hint=NEXT_RUN
        )
    if isinstance(error, docker.errors.ImageNotFound):
        return SandboxError(
            "the sandbox image is gone", where=WHERE, hint="run again, or `make image`"
        )
    if isinstance(error, docker.errors.APIError):
        if "seccomp" in said:
            what = f"the engine refused the seccomp profile: {said[-160:]}"
            return MeasureRefused(what, where=WHERE, hint=NEXT_RUN)
        # Debian only recommends AppArmor's tools to Docker, which starts nothing without them where the kernel has it.
        hint = (
            "`apt-get install apparmor`, then run again" if "apparmor_parser" in why else NEXT_RUN
        )
        return SandboxError(f"the engine refused: {why}", where=WHERE, hint=hint)
    if isinstance(error, OSError | requests.RequestException | docker.errors.DockerException):
        return SandboxError(f"the engine went away: {why}", where=WHERE, hint=NEXT_RUN)
    return error


def remove(engine: Engine, container: str) -> None:
    """Kill and remove. What a hanging engine does not remove ends by itself, or is removed when it is old."""
    if container:
        with contextlib.suppress(Exception):
            engine.client(timeout=20).remove_container(container, force=True, v=True)


@contextlib.contextmanager
def _raw_socket(stream: Any) -> Iterator[socket.socket]:
    """The socket below docker's stream, which differs between transports; closed afterwards.

    Stream and response refer to each other: without closing, two files an execution stay open until they are collected.
    """
    try:
        yield getattr(stream, "_sock", stream)
    finally:
        response, stream._response = getattr(stream, "_response", None), None
        with contextlib.suppress(OSError):
            if response is not None:
                response.close()
            stream.close()


def _read(
    connection: socket.socket, session: ContainerSession, max_bytes: int, deadline: float
) -> None:
    """Read both streams to their end: the engine sends frames of a type, a size and that many bytes."""
    buffer = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(1 << 18)
        if not piece:
            return
        buffer += piece
        start = 0
        while len(buffer) - start >= FRAME:
            size = int.from_bytes(buffer[start + 4 : start + FRAME], "big")
            if len(buffer) - start - FRAME < size:
                break
            session.streams.get(buffer[start], session.streams[2]).extend(
                buffer[start + FRAME : start + FRAME + size]
            )
            start += FRAME + size
        del buffer[:start]
        if session.first_line is None and b"\n" in session.streams[1]:
            session.first_line = time.monotonic()
        if sum(map(len, session.streams.values())) + len(buffer) > max_bytes:
            raise SandboxError(
                "the container sent more than a result can hold", where=WHERE, hint=NEXT_RUN
            )


# What the engine notes of a container that was changed from outside.
OUTSIDE = {"kill", "stop", "pause", "unpause", "restart", "update", "checkpoint"}
END_S = 15


def read_result(engine: Engine, session: ContainerSession, nonce: str) -> Result:
    """The result in a container's output, or the lost result of a command that had started.

    SandboxError if the command had not started; ResultLost if it had, and the engine or somebody outside ended it.
    """
    start = read_start(session.output, nonce)
    try:
        if session.failure is not None:
            raise session.failure
        if not session.output:
            raise SandboxError("the container ended without a result", where=WHERE, hint=NEXT_RUN)
        return decode(session.output, nonce)
    except SandboxError as error:
        if start is None and (session.failure or session.output):
            raise
        try:
            why, out_of_memory = _own_end(engine, session, error)
        except ResultLost as lost:
            if start is not None:
                raise
            why = lost.what
        if start is None:
            raise SandboxError(f"{error.what}: {why}", where=error.where, hint=error.hint) from None
        return Result(
            exit_code=None,
            stdout=Stream.of(b""),
            stderr=Stream.of(b""),
            wall_s=round(session.seconds, 6),
            used=Used(oom_killed=out_of_memory),
            processes=start,
            lost=why,
        )
    finally:
        if session.failure is not None:
            remove(engine, session.container)


def _own_end(engine: Engine, session: ContainerSession, error: SandboxError) -> tuple[str, bool]:
    """Why what runs in the container ended it, and whether the memory limit did; ResultLost if something else did."""
    if session.engine_failed:
        raise _result_lost(error.what)
    try:
        events = _events(engine, session)
    except Exception as gone:
        raise _result_lost(f"the engine went away: {first_words(gone)}") from None
    died = events.get("die") or events.get("died")  # Podman says died
    code = died and str(died.get("exitCode"))
    if outside := ", ".join(sorted(events.keys() & OUTSIDE)):
        raise _result_lost(f"somebody outside ended the container ({outside})")
    if code is None:
        if session.failure is None:
            raise _result_lost("the engine does not know how the container ended")
        return error.what, False
    if "oom" in events:
        return "the memory limit ended the runner itself", True
    if code == "0":
        raise _result_lost("the engine lost what the runner said")
    if code == "3" and b"\n" in session.output:  # the runner itself says why it failed
        return error.what, False
    last = bytes(session.streams[2]).decode("utf-8", "replace").strip().splitlines()[-1:]
    return ", ".join([f"exit code {code}", *(line[:200] for line in last)]), False


def _result_lost(why: str) -> ResultLost:
    return ResultLost(why, where=WHERE, hint="the next run tries the cell again, a few times")


def _events(engine: Engine, session: ContainerSession) -> dict[str, dict[str, str]]:
    """Action -> attributes of the engine's events about a container: up to its end, or to now if it was given up."""
    client = engine.client(timeout=END_S + 5)
    since, mine = int(session.began) - 1, {"container": session.container}
    if session.failure is None:
        stream = client.events(
            since=since, until=int(time.time()) + END_S, filters=mine, decode=True
        )
        with contextlib.closing(stream):
            any(event.get("Action") in {"die", "died"} for event in stream)
    # Events may come late: once more, for a moment.
    seen = client.events(since=since, until=int(time.time()) + 1, filters=mine, decode=True)
    found = {
        str(event.get("Action")): event.get("Actor", {}).get("Attributes") or {} for event in seen
    }
    # Docker remembers 256 events of all containers: by our deadline it may have forgotten a pause.
    if session.failure is not None and client.containers(
        filters={"id": session.container, "status": "paused"}
    ):
        found["pause"] = {}
    return found
