"""One container from creation to its end: bytes go to its standard input, its standard output comes back."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import docker.errors
import requests

from fluency.common.errors import SandboxError
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.seccomp import ProfileRefused

WHERE = "sandbox"
FRAME = 8
NAME = "agent-shell-sandbox-"
SYSCTL_MARKS = ("sysctl", "/proc/sys/")
NEXT_RUN = "the cell stays missing and the next run measures it"


class SysctlsRefused(SandboxError):
    """The engine may not set the kernel's limits of a container, as an older rootless one may not."""


@dataclass
class Talk:
    """What was heard of a container from its start to its end."""

    container: str
    """Its id, or its name while the engine has not told one."""
    began: float
    streams: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})
    first_line: float | None = None
    """When the first line of standard output was there; times are of the monotonic clock but `began`, seconds UTC."""
    ended: float = 0.0
    failure: SandboxError | None = None
    """Why it was not heard to its end."""
    engine_failed: bool = False

    @property
    def output(self) -> bytes:
        """Standard output, as far as it came."""
        return bytes(self.streams[1])

    @property
    def seconds(self) -> float:
        """From the first line to the end."""
        return self.ended - (self.first_line or self.ended)


def run_container(
    engine: Engine, config: dict[str, Any], sent: bytes, most_bytes: int, within_s: float, container: str | None = None
) -> Talk:
    """What a fresh container said that was sent `sent`; after a `failure` it may still be there, for `remove`.

    `container` is one that was created before with this config; else it is created now.
    """
    talk = Talk(container or new_name(), time.time())
    try:
        client = engine.client()
        if container is None:
            talk.container = client.create_container_from_config(config, talk.container)["Id"]
        stream = client.attach_socket(talk.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        with _raw_socket(stream) as connection:
            client.start(talk.container)
            connection.settimeout(within_s)
            with contextlib.suppress(BrokenPipeError):  # a container that ended at once; what it said follows
                connection.sendall(sent)
            _read(connection, talk, most_bytes, time.monotonic() + within_s)
    except BaseException as error:
        failure = as_sandbox_error(error, within_s)
        if not isinstance(failure, SandboxError):
            remove(engine, talk.container)
            raise
        talk.failure, talk.engine_failed = failure, not isinstance(error, TimeoutError | SandboxError)
    talk.ended = time.monotonic()
    return talk


def new_name() -> str:
    """A name for a container, by which it can be found although the engine never told its id."""
    return NAME + secrets.token_hex(8)


def as_sandbox_error(error: BaseException, within_s: float) -> BaseException:
    """The sandbox error behind what a client or a socket raised; anything unknown stays what it is."""
    said = " ".join(str(getattr(error, "explanation", None) or error).split())
    why = said[:160]
    if isinstance(error, TimeoutError):
        return SandboxError(f"the container did not end within {within_s:.0f} s", where=WHERE, hint=NEXT_RUN)
    if isinstance(error, docker.errors.ImageNotFound):
        return SandboxError("the sandbox image is gone", where=WHERE, hint="run again, or `make image`")
    if isinstance(error, docker.errors.APIError) and any(mark in str(error) for mark in SYSCTL_MARKS):
        return SysctlsRefused(f"the engine sets no kernel limits: {why}", where=WHERE, hint=NEXT_RUN)
    if isinstance(error, docker.errors.APIError) and "seccomp" in said:
        return ProfileRefused(f"the engine refused the seccomp profile: {said[-160:]}", where=WHERE, hint=NEXT_RUN)
    if isinstance(error, docker.errors.APIError):
        # Debian only recommends AppArmor's tools to Docker, which starts nothing without them where the kernel has it.
        hint = "`apt-get install apparmor`, then run again" if "apparmor_parser" in why else NEXT_RUN
        return SandboxError(f"the engine refused: {why}", where=WHERE, hint=hint)
    if isinstance(error, OSError | requests.RequestException | docker.errors.DockerException):
        return SandboxError(f"the engine went away: {why}", where=WHERE, hint=NEXT_RUN)
    return error


def remove(engine: Engine, container: str) -> None:
    """Kill and remove; what the engine does not confirm is noted, since it may yet make what it was asked for."""
    engine.unconfirmed.add(container)
    with contextlib.suppress(Exception):
        engine.patient_client(20).remove_container(container, force=True, v=True)
        engine.unconfirmed.discard(container)


@contextlib.contextmanager
def _raw_socket(stream: Any) -> Iterator[socket.socket]:
    """The socket below what docker's client hands out, which differs between its transports; closed afterwards.

    The client ties the socket and its response to each other, so that they would stay until the garbage collector
    comes round: two open files an execution.
    """
    try:
        yield getattr(stream, "_sock", stream)
    finally:
        response, stream._response = getattr(stream, "_response", None), None
        with contextlib.suppress(OSError):
            if response is not None:
                response.close()
            stream.close()


def _read(connection: socket.socket, talk: Talk, most_bytes: int, deadline: float) -> None:
    """Both streams of the container: the engine sends frames of a type, a size and that many bytes."""
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
            talk.streams.get(buffer[start], talk.streams[2]).extend(buffer[start + FRAME : start + FRAME + size])
            start += FRAME + size
        del buffer[:start]
        if talk.first_line is None and b"\n" in talk.streams[1]:
            talk.first_line = time.monotonic()
        if sum(map(len, talk.streams.values())) + len(buffer) > most_bytes:
            raise SandboxError("the container sent more than a result can hold", where=WHERE, hint=NEXT_RUN)
