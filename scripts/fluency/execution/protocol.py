"""An invocation to bytes, and a result document back."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from fluency.common.errors import SandboxError
from fluency.core.records import HttpRequest, ProcessFact, Result, Stream, TreeChanges, Used
from fluency.core.shells import AS_DESIGNED, CONDITIONS, SHELLS, ConditionName
from fluency.core.study import Limits
from fluency.world import World
from fluency.world.model import PORT, WORK_DIR


@dataclass(frozen=True)
class Invocation:
    """One command in one world."""

    shell: str
    command: str
    world: World
    limits: Limits
    timeout_s: float
    """The deadline in seconds of the command's own time, its shell's start included and the container's excluded."""
    needs: Sequence[str] = ()
    """What is started of the world beside its tree: processes, http."""
    condition: ConditionName = AS_DESIGNED.name
    identify: bool = False
    """Whether the image is to prove itself by the hashes of what runs in it."""


PROTOCOL = 7


def encode(invocation: Invocation, nonce: str) -> bytes:
    """An invocation as the runner reads it: size of the header, newline, header (JSON), the world's tar."""
    world, condition = invocation.world, CONDITIONS[invocation.condition]
    header = {
        "protocol": PROTOCOL,
        "nonce": nonce,
        "root": WORK_DIR,
        "port": PORT,
        "shell": invocation.shell,
        "argv": [word for word in SHELLS[invocation.shell].argv if word not in condition.removed_arguments],
        "command": _text(invocation.command.encode("utf-8", "surrogatepass")),
        "tools": condition.unix_tools,
        "home": dict(condition.home_files),
        "timeout_s": invocation.timeout_s,
        "identify": invocation.identify,
        "output_bytes": invocation.limits.output_bytes,
        "ages": dict(world.ages),
        "tar_bytes": len(world.tar),
        "http": [route.to_json() for route in world.http] if "http" in invocation.needs else None,
        "helpers": [helper.to_json() for helper in world.processes] if "processes" in invocation.needs else [],
    }
    text = json.dumps(header).encode()
    return b"%d\n%b%b" % (len(text), text, world.tar)


class Start(NamedTuple):
    """What the runner said when the command was about to start."""

    processes: list[ProcessFact]
    """The helpers as they were."""
    identity: dict[str, str]
    """Part of the image -> SHA-256 of what runs, as the image's record names it; empty if it was not asked for."""


def read_start(said: bytes, nonce: str) -> Start | None:
    """What the runner said when the command started; None if it did not start."""
    line, whole, _ = said.partition(b"\n")
    try:
        start = json.loads(line) if whole else {}
        if (start.get("protocol"), start.get("nonce")) != (PROTOCOL, nonce):
            return None
        identity = {str(part): str(digest) for part, digest in start["identity"].items()}
        return Start([ProcessFact(**fact) for fact in start["processes"]], identity)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def decode(said: bytes, nonce: str) -> Result:
    """The result in what came out; SandboxError if it is anything but the whole, true document of this execution."""
    document = said.rpartition(b"\n")[2]
    try:
        answer = json.loads(document)
    except ValueError:
        raise SandboxError(
            f"the sandbox gave no whole result document ({len(said)} bytes came back)",
            where="sandbox",
            hint="the cell stays missing and the next run measures it; `make doctor` looks at the engine",
        ) from None
    if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
        raise SandboxError("the image speaks another protocol", where="sandbox", hint="rebuild it: `make image`")
    if answer.get("error"):
        last = str(answer["error"]).strip().splitlines()[-1]
        raise SandboxError(f"the runner failed: {last}", where="sandbox", hint="the next run measures the cell")
    if answer.get("nonce") != nonce:
        raise SandboxError("the result is of another execution", where="sandbox", hint="the next run measures the cell")
    try:
        return _result(answer["result"], read_start(said, nonce))
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        why = " ".join(str(error).split())[:200]
        raise SandboxError(
            f"the result document is not of the agreed form: {why}", where="sandbox", hint="rebuild it: `make image`"
        ) from None


def _result(found: dict[str, Any], start: Start | None) -> Result:
    if start is None:
        raise ValueError("it does not say that the command started")
    return Result(
        **{key: found[key] for key in ("exit_code", "signal", "timed_out", "spawn_error", "wall_s", "tree_changed")},
        changes=None if found["changes"] is None else TreeChanges(**found["changes"]),
        leftover=found["leftover"],
        helpers_intact=found["helpers_intact"],
        stdout=_stream(found["stdout"]),
        stderr=_stream(found["stderr"]),
        used=Used(**found["used"]),
        processes=start.processes,
        http_requests=[HttpRequest(**request) for request in found["http_requests"]],
    )


def _stream(found: dict[str, Any]) -> Stream:
    return Stream.of(base64.b64decode(found["data"], validate=True), found["bytes"])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
