"""One container from creation to its end: bytes go to its standard input, its standard output comes back."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import docker.errors
import requests

from fluency.common.errors import SandboxError
from fluency.execution.sandbox.engine import Engine

WHERE = "sandbox"
FRAME = 8
NEXT_RUN = "the cell stays missing and the next run measures it"


def run_container(
    engine: Engine, config: dict[str, Any], sent: bytes, most_bytes: int, within_s: float, container: str | None = None
) -> bytes:
    """Standard output of a fresh container that was sent `sent`; SandboxError if it did not come to its end by itself.

    `container` is one that was created before with this config; else it is created now.
    """
    client = engine.client()
    began = time.time()
    try:
        container = container or client.create_container_from_config(config)["Id"]
        stream = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        with _raw_socket(stream) as connection:
            client.start(container)
            connection.settimeout(within_s)
            with contextlib.suppress(BrokenPipeError):  # a container that ended at once; what it said follows
                connection.sendall(sent)
            output, errors = _read(connection, most_bytes, time.monotonic() + within_s)
    except BaseException as error:
        remove(engine, container)
        raise _as_sandbox_error(error, within_s) from None
    if not output:
        why = _why_it_ended(engine, container, began, errors)
        raise SandboxError(f"the container ended without a result{why}", where=WHERE, hint=NEXT_RUN)
    return output


def _as_sandbox_error(error: BaseException, within_s: float) -> BaseException:
    """The sandbox error behind what a client or a socket raised; anything unknown stays what it is."""
    why = " ".join(str(getattr(error, "explanation", None) or error).split())[:160]
    if isinstance(error, TimeoutError):
        return SandboxError(f"the container did not end within {within_s:.0f} s", where=WHERE, hint=NEXT_RUN)
    if isinstance(error, docker.errors.ImageNotFound):
        return SandboxError("the sandbox image is gone", where=WHERE, hint="run again, or `make image`")
    if isinstance(error, docker.errors.APIError):
        # Debian only recommends AppArmor's tools to Docker, which starts nothing without them where the kernel has it.
        hint = "`apt-get install apparmor`, then run again" if "apparmor_parser" in why else NEXT_RUN
        return SandboxError(f"the engine refused: {why}", where=WHERE, hint=hint)
    if isinstance(error, OSError | requests.RequestException | docker.errors.DockerException):
        return SandboxError(f"the engine went away: {why}", where=WHERE, hint=NEXT_RUN)
    return error


def remove(engine: Engine, container: str | None) -> None:
    """Kill and remove; a container that is gone already is as good."""
    if container:
        with contextlib.suppress(Exception):
            engine.patient_client(20).remove_container(container, force=True, v=True)


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


def _read(connection: socket.socket, most_bytes: int, deadline: float) -> tuple[bytes, bytes]:
    """Both streams of the container: the engine sends frames of a type, a size and that many bytes."""
    kept: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
    buffer = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(1 << 18)
        if not piece:
            return bytes(kept[1]), bytes(kept[2])
        buffer += piece
        start = 0
        while len(buffer) - start >= FRAME:
            size = int.from_bytes(buffer[start + 4 : start + FRAME], "big")
            if len(buffer) - start - FRAME < size:
                break
            kept.get(buffer[start], kept[2]).extend(buffer[start + FRAME : start + FRAME + size])
            start += FRAME + size
        del buffer[:start]
        if sum(map(len, kept.values())) + len(buffer) > most_bytes:
            raise SandboxError("the container sent more than a result can hold", where=WHERE, hint=NEXT_RUN)


def _why_it_ended(engine: Engine, container: str, began: float, errors: bytes) -> str:
    """What the engine's events say about a container that is gone already."""
    with contextlib.suppress(Exception):
        seen = list(
            engine.patient_client(10).events(
                since=int(began) - 1, until=int(time.time()) + 1, filters={"container": container}, decode=True
            )
        )
        if any(event.get("Action") == "oom" for event in seen):
            return ": the memory limit ended the runner itself"
        for event in seen:
            if event.get("Action") == "die":
                code = event["Actor"]["Attributes"].get("exitCode")
                last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
                return f": exit code {code}" + (f", {last[0][:200]}" if last else "")
    return ""
