"""A command whose result is known, in a world with nothing in it.

It tells whether the sandbox works, holds its limits, and is the one that was built.
"""

from __future__ import annotations

import shlex

from fluency.common.errors import SandboxError
from fluency.core.records import ImageInfo, Result
from fluency.core.shells import DESIGN
from fluency.core.study import Limits
from fluency.execution.invocation import Invocation
from fluency.execution.sandbox.seccomp import ProfileRefused
from fluency.world.model import World, pack

EMPTY_WORLD = World(seed=0, files={}, dirs=(), ages={}, http=(), processes=(), tar=pack({}, ()))
TEXT = "canary \\ $HOME 'ü'"
# Engines' own profiles let a program pretend to be on a 32-bit machine, the project's does not.
FILTERED = "setarch linux32 true 2>/dev/null && echo wide || echo reduced"
# Where the two versions of control groups say what holds; nothing is told where the engine hides them.
HOLDS = "/sys/fs/cgroup/{memory/memory.limit_in_bytes,memory.max,pids/pids.max,pids.max}"
TIMEOUT_S = 30.0


def canary(limits: Limits) -> Invocation:
    """The command: it prints a text that is hard to carry, which seccomp profile holds, and the limits that do."""
    command = f"printf '%s\\n' {shlex.quote(TEXT)}; {FILTERED}; cat {HOLDS} 2>/dev/null; printf canary >&2; exit 7"
    return Invocation(DESIGN[0], command, EMPTY_WORLD, limits, TIMEOUT_S, identify=True)


def check_identity(image: ImageInfo, identity: dict[str, str]) -> None:
    """SandboxError unless what runs is what the image's build made, part for part."""
    other = sorted(part for part in image.identity.keys() | identity if image.identity.get(part) != identity.get(part))
    if other:
        raise SandboxError(
            f"the image is not the one that was built here: other content in {', '.join(other)}",
            where="sandbox",
            hint=f"`docker image rm -f {image.image_id}`, then `make image`",
        )


def check(result: Result, limits: Limits, reduced: bool) -> None:
    """SandboxError unless the canary's result is the known one, and what holds is what the limits say.

    ProfileRefused if it is `reduced` and the project's seccomp profile does not hold.
    """
    said, filtered, *holds = [*result.stdout.data.split("\n"), ""]
    if (result.exit_code, said, result.stderr.data) != (7, TEXT, "canary"):
        raise SandboxError(
            f"a command with a known result gave another: {result.exit_code}, {result.stdout.data[:80]!r}",
            where="sandbox",
            hint="rebuild the image: `make image`",
        )
    if not set(filter(None, holds)) <= {str(limits.memory_mb << 20), str(limits.pids)}:
        raise SandboxError(
            "the engine does not hold the limits of memory and processes",
            where="sandbox",
            hint="rootless engines need control groups v2, delegated to the user; else run the engine as root",
        )
    if reduced and filtered == "wide":
        raise ProfileRefused(
            "the engine does not hold the seccomp profile",
            where="sandbox",
            hint="give it its usual runtime back",
        )
