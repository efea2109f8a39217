"""One container's life, and whose failure a lost result is."""

import contextlib
import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import Any

import docker.errors

from fluency.common.errors import ResultLost, SandboxError
from fluency.core.records import Result, Stream, Used
from fluency.execution.engine import Engine, both_ends
from fluency.execution.isolation import MeasureRefused, bound_sockets
from fluency.execution.protocol import decode, read_start

LABEL = "agent-shell-sandbox.execution"
LABELS = {LABEL: secrets.token_hex(8)}
"""Marks the containers of this process on an engine that others use too."""
WHERE = "sandbox"
NEXT_RUN = "the cell stays missing and the next run measures it"


@dataclass
class ContainerSession:
    """What came from a container, and when, in seconds UTC."""

    began: float
    container: str = ""
    """Its id; empty until the engine has returned one."""
    output: bytearray = field(default_factory=bytearray)
    """Standard output, as far as it arrived."""
    errors: bytearray = field(default_factory=bytearray)
    ended: float = 0.0
    failure: SandboxError | None = None
    """Why its output was not read to the end."""
    engine_failed: bool = False

    @property
    def last_words(self) -> str:
        """The last line of standard error."""
        return self.errors.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]


def run_container(
    engine: Engine, config: dict[str, Any], sent: bytes, max_bytes: int, timeout_s: float
) -> ContainerSession:
    """Start a container, send it `sent` and read its output.

    After a `failure` it may still exist, for `remove`.
    """
    session = ContainerSession(time.time())
    try:
        client = engine.client()
        session.container = client.create_container_from_config(config)["Id"]
        stream = client.attach_socket(
            session.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        # Stream and response refer to each other: without closing, two files an execution stay
        # open until they are collected.
        with contextlib.closing(stream._response):
            # The socket below docker's stream, which differs between transports.
            connection: socket.socket = getattr(stream, "_sock", stream)
            client.start(session.container)
            bound_sockets(session.container)
            connection.settimeout(timeout_s)
            # A container that ended at once takes no input; its output follows.
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(sent)
            _read(connection, session, max_bytes, time.monotonic() + timeout_s)
    except (SandboxError, OSError, docker.errors.DockerException) as error:
        session.failure = _as_sandbox_error(error, timeout_s)
        session.engine_failed = not isinstance(error, TimeoutError | SandboxError)
    except BaseException:
        remove(engine, session.container)
        raise
    session.ended = time.time()
    return session


def _as_sandbox_error(error: Exception, timeout_s: float) -> SandboxError:
    """The sandbox's error for one of the client or the socket."""
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
        # Debian only recommends AppArmor's tools to Docker, which starts nothing without them where
        # the kernel has it.
        if "apparmor_parser" in said:
            hint = "`apt-get install apparmor`, then run again"
    return kind(what, where=WHERE, hint=hint)


def remove(engine: Engine, container: str, timeout_s: int = 20) -> None:
    """Kill and remove; what a hanging engine does not remove ends alone."""
    if container:
        with contextlib.suppress(Exception):
            engine.client(timeout=timeout_s).remove_container(container, force=True, v=True)


def _read(
    connection: socket.socket, session: ContainerSession, max_bytes: int, deadline: float
) -> None:
    """Read both streams to their end.

    The engine sends frames of a type, a size and that many bytes.
    """
    with connection.makefile("rb") as frames:
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            head = frames.read(8)
            if len(head) < 8:
                return
            piece = frames.read(int.from_bytes(head[4:], "big"))
            (session.output if head[0] == 1 else session.errors).extend(piece)
            if len(session.output) + len(session.errors) > max_bytes:
                what = "the container sent more than a result can hold"
                raise SandboxError(what, where=WHERE, hint=NEXT_RUN)
    raise TimeoutError


# What the engine notes of a container that was changed from outside.
OUTSIDE = {"kill", "stop", "pause", "unpause", "restart", "update", "checkpoint"}
REMOVED = {"destroy", "remove"}
"""The last event of a container, by Docker and by Podman."""
END_S = 15
OUT_OF_MEMORY = "the memory limit ended the runner itself"


def read_result(engine: Engine, session: ContainerSession, nonce: str) -> Result:
    """The result in a container's output, or the lost result of a command that had started.

    SandboxError if the command had not started; ResultLost if it had, and the engine or another
    program ended it.
    """
    start = read_start(session.output, nonce)
    try:
        if session.failure:
            raise session.failure
        if not session.output:
            what = f"the container ended without a result: {session.last_words}"
            raise SandboxError(what, where=WHERE, hint=NEXT_RUN)
        return decode(session.output, nonce)
    except SandboxError as error:
        if start is None or isinstance(error, ResultLost):
            raise
        own, why = _own_end(engine, session, error)
        if not own:
            hint = "the next run tries the cell again, a few times"
            raise ResultLost(why, where=WHERE, hint=hint) from None
        return Result(
            exit_code=None,
            stdout=Stream.of(b""),
            stderr=Stream.of(b""),
            wall_s=round(max(0.0, session.ended - session.began), 6),
            used=Used(oom_killed=why == OUT_OF_MEMORY),
            processes=start,
            lost=why,
        )
    finally:
        if session.failure:
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
    if died is None and not session.failure:
        return False, "the engine does not know how the container ended"
    code = died["exitCode"] if died else ""
    if code == "0":
        return False, "the engine lost what the runner said"
    if "oom" in events:
        return True, OUT_OF_MEMORY
    # With code 3 the runner itself says why it failed.
    if code in ("", "3"):
        return True, error.what
    return True, ", ".join(filter(None, [f"exit code {code}", session.last_words]))


def _events(engine: Engine, session: ContainerSession) -> dict[str, dict[str, str]]:
    """Action -> attributes of the engine's events about a container.

    Up to its removal, or to now if it may still run.
    """
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
    if session.failure and client.containers(filters=paused):
        found["pause"] = {}
    return found
