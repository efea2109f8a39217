"""One container's life, and whose failure a lost result is."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import docker.errors
import requests

from fluency.common.errors import ResultLost, SandboxError
from fluency.core.records import Result, Stream, Used
from fluency.execution.engine import Engine
from fluency.execution.isolation import ProfileRefused
from fluency.execution.protocol import decode, read_start

LABEL = "agent-shell-sandbox.owner"
MARK = "agent-shell-sandbox.execution"
LONGEST_S = 3600.0
"""No execution is under way as long: a deadline is 600 s at most."""


@cache
def boot_id() -> str:
    """Changes with every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> str:
    """The inode of the name space whose process ids /proc shows; empty where that is not this process's own."""
    try:
        ours = Path("/proc/self").readlink() == Path(str(os.getpid()))
        return str(Path("/proc/self/ns/pid").stat().st_ino) if ours else ""
    except OSError:
        return ""


def started(pid: int) -> int | None:
    """When a process started, in ticks since boot; None if there is none or it is a zombie."""
    try:
        rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if rest[0] in "ZX" else int(rest[19])


def owner(pid: int) -> str:
    """What names a process of this name space for all who share the engine, wherever they run."""
    return f"{boot_id()} {pid} {started(pid)} {pid_namespace() or '-'}"


def container_labels() -> dict[str, str]:
    """The labels of this process's containers."""
    return {MARK: "1", LABEL: owner(os.getpid())}


def can_be_looked_up(label: str) -> bool:
    """Whether the process a label names is of this start of the machine and this name space, so that /proc shows it.

    Whether any other still lives cannot be seen: a devcontainer's, a CI job's or another machine's on the same engine.
    """
    return bool(pid_namespace()) and label.split()[::3] == [boot_id(), pid_namespace()]


def is_gone(label: str, age_s: float) -> bool:
    """Whether nobody waits for a container any more, which is `age_s` old.

    Its owner has ended (a process id that was given out again does not count), or, where that cannot be seen, it is
    older than any execution.
    """
    if not can_be_looked_up(label):
        return age_s > LONGEST_S
    _, pid, began, *_ = label.split()
    return not pid.isdigit() or str(started(int(pid))) != began


WHERE = "sandbox"
FRAME = 8
NAME = "agent-shell-sandbox-"
SYSCTL_MARKS = ("sysctl", "/proc/sys/")
NEXT_RUN = "the cell stays missing and the next run measures it"


class SysctlsRefused(SandboxError):
    """The engine may not set the kernel's limits of a container, as an older rootless one may not."""


@dataclass
class ContainerSession:
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
) -> ContainerSession:
    """What a fresh container said that was sent `sent`; after a `failure` it may still be there, for `remove`.

    `container` is one that was created before with this config; else it is created now.
    """
    talk = ContainerSession(container or new_name(), time.time())
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


def _read(connection: socket.socket, talk: ContainerSession, most_bytes: int, deadline: float) -> None:
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


# What the engine notes of a container that somebody else than its own processes changed.
OUTSIDE = {"kill", "stop", "pause", "unpause", "restart", "update", "checkpoint"}
DIED = {"die", "died"}
END_S = 15.0


class Ending(NamedTuple):
    """How a container ended, as its engine tells it; `own`: by what runs in it."""

    own: bool
    why: str
    out_of_memory: bool = False


def read_result(engine: Engine, talk: ContainerSession, nonce: str) -> Result:
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
            raise ResultLost(ending.why, where=WHERE, hint="the next run tries the cell again, a few times") from None
        return Result(
            exit_code=None,
            stdout=Stream.of(b""),
            stderr=Stream.of(b""),
            wall_s=round(talk.seconds, 6),
            used=Used(oom_killed=ending.out_of_memory),
            processes=started,
            lost=ending.why,
        )
    finally:
        if talk.failure is not None:
            remove(engine, talk.container)


def how_it_ended(engine: Engine, talk: ContainerSession, error: SandboxError) -> Ending:
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


def _events(client: Any, talk: ContainerSession) -> list[dict[str, Any]]:
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


def remove_of_ended_runs(engine: Engine) -> int:
    """Remove the containers that nobody waits for any more; how many there were."""
    removed = 0
    found = engine.client().containers(all=True, filters={"label": MARK})
    now = _clock(engine, found)
    for container in found:
        if is_gone(container["Labels"].get(LABEL, ""), now - container["Created"]):
            remove(engine, container["Id"])
            removed += 1
    return removed


def remove_unconfirmed(engine: Engine) -> None:
    """Remove what this process asked for in vain and what is there now; does nothing where all was confirmed."""
    if not engine.unconfirmed:
        return
    with contextlib.suppress(Exception):  # an engine that still hangs is told by the execution that follows
        mine = {"label": f"{LABEL}={container_labels()[LABEL]}"}
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
    if all(can_be_looked_up(container["Labels"].get(LABEL, "")) for container in found):
        return 0.0
    told = engine.client().info().get("SystemTime")
    return datetime.fromisoformat(told).astimezone(UTC).timestamp() if told else time.time()
