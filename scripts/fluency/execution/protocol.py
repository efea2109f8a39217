"""An invocation to bytes, and a result document back."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fluency.common.errors import MachineBusy, SandboxError
from fluency.core.records import ProcessFact, Result, Stream
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
    """Deadline of the command in seconds.

    It counts the start of its shell and not the start of the container.
    """
    needs: Sequence[str] = ()
    """What is started in addition to the world's tree: processes, http."""
    condition: ConditionName = AS_DESIGNED.name


EMPTY_WORLD = World(seed=0)
RUNNER_PROTOCOL = 1
PATIENCE = 4
"""Deadlines after which the runner ends a command on a machine that is busy with other work."""


def header(invocation: Invocation, nonce: str) -> dict[str, Any]:
    """What is sent to the runner in addition to the content of the world's files."""
    world, condition = invocation.world, CONDITIONS[invocation.condition]
    return {
        "protocol": RUNNER_PROTOCOL,
        "nonce": nonce,
        "root": WORK_DIR,
        "port": PORT,
        "shell": invocation.shell,
        "argv": [
            word
            for word in SHELLS[invocation.shell].argv
            if word not in condition.removed_arguments
        ],
        "command": base64.b64encode(invocation.command.encode("utf-8", "surrogatepass")).decode(),
        "tools": condition.unix_tools,
        "home": dict(condition.home_files),
        "timeout_s": invocation.timeout_s,
        "output_bytes": invocation.limits.output_bytes,
        "ages": dict(world.ages),
        "tree": [
            [path, len(world.files[path]) if path in world.files else None]
            for path in sorted((*world.dirs, *world.files))
        ],
        "http": [route.to_json() for route in world.http] if "http" in invocation.needs else None,
        "helpers": [helper.to_json() for helper in world.processes]
        if "processes" in invocation.needs
        else [],
    }


def encode(invocation: Invocation, nonce: str) -> bytes:
    """The runner's input: size of the header, newline, header (JSON), the files in its order."""
    text, files = json.dumps(header(invocation, nonce)).encode(), invocation.world.files
    return b"%d\n%b%b" % (len(text), text, b"".join(files[path] for path in sorted(files)))


def read_start(output: bytes | bytearray, nonce: str) -> list[ProcessFact] | None:
    """The helper processes, from the line that the runner writes before the command starts.

    None if it is missing.
    """
    line, newline, _ = output.partition(b"\n")
    try:
        start = json.loads(line) if newline else {}
        if (start["protocol"], start["nonce"]) == (RUNNER_PROTOCOL, nonce):
            return [ProcessFact(**fact) for fact in start["processes"]]
    except (KeyError, TypeError, ValueError):  # pydantic's ValidationError is a ValueError
        pass
    return None


def decode(output: bytes | bytearray, nonce: str) -> Result:
    """The result in the runner's output.

    SandboxError unless it is the complete, valid document of this execution; MachineBusy if the
    command was interrupted.
    """
    kind, what, hint = (
        SandboxError,
        "",
        "the next run measures the cell; `make doctor` checks image and engine",
    )
    try:
        answer = json.loads(output.rpartition(b"\n")[2])
        if answer["protocol"] != RUNNER_PROTOCOL:
            what = "the image speaks another protocol"
        elif answer.get("error"):
            what = f"the runner failed: {str(answer['error']).strip().splitlines()[-1]}"
        elif answer["nonce"] != nonce:
            what = "the result is of another execution"
        elif answer.get("interrupted"):
            kind, what = MachineBusy, "the machine was too busy with other work"
        else:
            found = answer["result"]
            if found.keys() != Result.model_fields.keys() - {"processes", "lost"}:
                raise ValueError("a key is missing or unexpected")
            state = found["state"] if isinstance(found["state"], list) else []
            sent = [(found, "stdout"), (found, "stderr")]
            for part, name in sent + [(one, "content") for one in state if "content" in one]:
                kept = base64.b64decode(part[name]["data"], validate=True)
                part[name] = Stream.of(kept, part[name]["bytes"])
            # Without a start line it has no processes, which a result may not lack.
            return Result(**found, processes=read_start(output, nonce))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        why = " ".join(repr(error).split())[:200]
        what = f"the sandbox gave no whole result document ({len(output)} bytes came back): {why}"
    raise kind(what, where="sandbox", hint=hint)
