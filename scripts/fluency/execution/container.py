"""One container's life, and whose failure a lost result is."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker.errors
import requests

from fluency.common.errors import ResultLost, SandboxError
from fluency.core.records import Result, Stream, Used
from fluency.execution.engine import Engine, both_ends
from fluency.execution.isolation import MeasureRefused, bound_sockets
from fluency.execution.protocol import decode, read_start

LABEL = "agent-shell-sandbox.execution"
LABELS = {LABEL: "1"}
WHERE = "sandbox"
NEXT_RUN = "the cell stays missing and the next run measures it"


@dataclass
class ContainerSession:
    """What came from a container, and when. Times are of the monotonic clock, `began` in seconds UTC."""

    began: float
    container: str = ""
    """Its id; empty until the engine has returned one."""
    output: bytes = b""
    """Standard output, as far as it arrived."""
    errors: bytes = b""
    first_line: float | None = None
    """When the first line of standard output had arrived."""
    ended: float = 0.0
    failure: SandboxError | None = None
    """Why its output was not read to the end."""
    engine_failed: bool = False


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
            # A container that ended at once takes no input; its output follows.
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(sent)
            _read(connection, session, max_bytes, time.monotonic() + timeout_s)
    except BaseException as error:
        failure = _as_sandbox_error(error, timeout_s)
        if failure is None:
            remove(engine, session.container)
            raise
        session.failure = failure
        session.engine_failed = not isinstance(error, TimeoutError | SandboxError)
    session.ended = time.monotonic()
    return session


def _as_sandbox_error(error: BaseException, timeout_s: float) -> SandboxError | None:
    """The sandbox error for what a client or a socket raised; None for other errors."""
    said = both_ends(error)
    kind, what, hint = SandboxError, f"the engine went away: {said}", NEXT_RUN
    if isinstance(error, SandboxError):
        return error
    if isinstance(error, TimeoutError):
        what = f"the container did not end within {timeout_s:.0f} s"
    elif isinstance(error, docker.errors.ImageNotFound):
        what, hint = "the sandbox image is gone", "run again, or `make image`"
    elif isinstance(error, docker.errors.APIError) and "seccomp" in said:
        kind, what = MeasureRefused, f"the engine refused the seccomp profile: {said}"
    elif isinstance(error, docker.errors.APIError):
        what = f"the engine refused: {said}"
        # Debian only recommends AppArmor's tools to Docker, which starts nothing without them where the kernel has it.
        if "apparmor_parser" in what:
            hint = "`apt-get install apparmor`, then run again"
    elif not isinstance(error, OSError | requests.RequestException | docker.errors.DockerException):
        return None
    return kind(what, where=WHERE, hint=hint)


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
        with contextlib.suppress(OSError), contextlib.closing(stream):
            getattr(stream, "_response", stream).close()


def _read(
    connection: socket.socket, session: ContainerSession, max_bytes: int, deadline: float
) -> None:
    """Read both streams to their end: the engine sends frames of a type, a size and that many bytes."""
    output, errors = bytearray(), bytearray()
    try:
        with connection.makefile("rb") as frames:
            while (left := deadline - time.monotonic()) > 0:
                connection.settimeout(left)
                head = frames.read(8)
                if len(head) < 8:
                    return
                piece = frames.read(int.from_bytes(head[4:], "big"))
                (output if head[0] == 1 else errors).extend(piece)
                if session.first_line is None and b"\n" in output:
                    session.first_line = time.monotonic()
                if len(output) + len(errors) > max_bytes:
                    what = "the container sent more than a result can hold"
                    raise SandboxError(what, where=WHERE, hint=NEXT_RUN)
        raise TimeoutError
    finally:
        session.output, session.errors = bytes(output), bytes(errors)


# What the engine notes of a container that was changed from outside.
OUTSIDE = {"kill", "stop", "pause", "unpause", "restart", "update", "checkpoint"}
REMOVED = {"destroy", "remove"}
"""The last event of a container, by Docker and by Podman."""
END_S = 15
OUT_OF_MEMORY = "the memory limit ended the runner itself"


def read_result(engine: Engine, session: ContainerSession, nonce: str) -> Result:
    """The result in a container's output, or the lost result of a command that had started.

    SandboxError if the command had not started; ResultLost if it had, and the engine or another program ended it.
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
        own, why = _own_end(engine, session, error)
        if start is None:
            raise SandboxError(f"{error.what}: {why}", where=WHERE, hint=error.hint) from None
        if not own:
            hint = "the next run tries the cell again, a few times"
            raise ResultLost(why, where=WHERE, hint=hint) from None
        return Result(
            exit_code=None,
            stdout=Stream.of(b""),
            stderr=Stream.of(b""),
            wall_s=round(session.ended - (session.first_line or session.ended), 6),
            used=Used(oom_killed=why == OUT_OF_MEMORY),
            processes=start,
            lost=why,
        )
    finally:
        if session.failure is not None:
            remove(engine, session.container)


def _own_end(engine: Engine, session: ContainerSession, error: SandboxError) -> tuple[bool, str]:
    """Whether what runs in the container ended it, and how it ended."""
    if session.engine_failed:
        return False, error.what
    try:
        events = _events(engine, session)
    except Exception as gone:
        return False, f"the engine went away: {both_ends(gone)}"
    if outside := ", ".join(sorted(events.keys() & OUTSIDE)):
        return False, f"the container was ended from outside ({outside})"
    died = events.get("die") or events.get("died")  # Podman says died
    code = str(died.get("exitCode")) if died else ""
    if died is None and session.failure is None:
        return False, "the engine does not know how the container ended"
    if code == "0":
        return False, "the engine lost what the runner said"
    if "oom" in events:
        return True, OUT_OF_MEMORY
    # With code 3 the runner itself says why it failed.
    if died is None or (code == "3" and b"\n" in session.output):
        return True, error.what
    last = session.errors.decode("utf-8", "replace").strip().splitlines()[-1:]
    return True, ", ".join([f"exit code {code}", *(line[:200] for line in last)])


def _events(engine: Engine, session: ContainerSession) -> dict[str, dict[str, str]]:
    """Action -> attributes of the engine's events about a container: up to its removal, or to now if it may still run."""
    client = engine.client(timeout=END_S + 5)
    found = {}
    with contextlib.closing(
        client.events(
            since=int(session.began) - 1,
            until=int(time.time()) + (1 if session.failure else END_S),
            filters={"container": session.container},
            decode=True,
        )
    ) as events:
        for event in events:
            found[str(event.get("Action"))] = event.get("Actor", {}).get("Attributes") or {}
            if found.keys() & REMOVED:
                break
    # Docker remembers 256 events of all containers: by our deadline it may have forgotten a pause.
    paused = {"id": session.container, "status": "paused"}
    if session.failure is not None and client.containers(filters=paused):
        found["pause"] = {}
    return found
