"""The sandbox as the pipeline sees it: one call, one command, one fresh container, one result."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Sequence
from typing import Any

from fluency.common.errors import SandboxError
from fluency.common.terminal import Say, say
from fluency.core.records import ImageInfo, Result
from fluency.core.shells import SHELLS, Condition
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.sandbox import labels
from fluency.execution.sandbox.container import execute, remove
from fluency.execution.sandbox.empty import EMPTY_WORLD
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.flags import container_config, walls
from fluency.execution.sandbox.image import ensure_image, why_no_powershell
from fluency.execution.sandbox.protocol import decode, encode
from fluency.execution.sandbox.start_engine import ensure_engine
from fluency.world import World

GRACE_S = 60.0  # for start, world and helpers, on a machine that is busy with others
CANARY = "canary \\ $HOME 'ü'"
# Where the two versions of control groups say what holds; nothing is told where the engine hides them.
HOLDS = "/sys/fs/cgroup/{memory/memory.limit_in_bytes,memory.max,pids/pids.max,pids.max}"


class Sandbox:
    """Runs commands; safe to call from several threads. `image` and `engine` go into every record."""

    def __init__(self, engine: Engine, image: ImageInfo, parallel: int) -> None:
        self.image = image
        self.engine: dict[str, Any] = engine.facts
        self.parallel = parallel
        self._engine = engine
        self._room = threading.BoundedSemaphore(parallel)
        self._doubted = threading.Event()
        self._canary_lock = threading.Lock()

    def run(
        self,
        *,
        shell: str,
        command: str,
        world: World,
        needs: Sequence[str] = (),
        condition: Condition = "as_designed",
        limits: Limits,
        timeout_s: float,
    ) -> Result:
        """One command in one world, measured; SandboxError when it could not be measured.

        `timeout_s` is the command's own time, its start included and the container's excluded.
        """
        if not self.image.shells.get(shell):
            raise SandboxError(
                f"the image holds no {SHELLS[shell].title}", where="sandbox", hint="`make doctor` says how"
            )
        if self._doubted.is_set():
            self.canary(world, limits)
        try:
            return self._run(shell, command, world, needs, condition, limits, timeout_s)
        except SandboxError:
            self._doubted.set()
            raise

    @property
    def no_powershell(self) -> str | None:
        """Why the image holds no PowerShell; None if it does."""
        return None if self.image.shells.get("pwsh") else why_no_powershell(self._engine, self.image.image_id)

    def canary(self, world: World, limits: Limits) -> None:
        """A command whose result is known; SandboxError if the sandbox gives another, or does not hold its limits."""
        with self._canary_lock:
            command = f"printf '%s\\n' {_quoted(CANARY)}; cat {HOLDS} 2>/dev/null; printf canary >&2; exit 7"
            result = self._run("bash", command, world, (), "as_designed", limits, 30)
            said, _, holds = result.stdout.data.partition("\n")
            if (result.exit_code, said, result.stderr.data) != (7, CANARY, "canary"):
                raise SandboxError(
                    f"a command with a known result gave another: {result.exit_code}, {result.stdout.data[:80]!r}",
                    where="sandbox",
                    hint="rebuild the image: `make image`",
                )
            if not set(holds.split()) <= {str(limits.memory_mb << 20), str(limits.pids)}:
                raise SandboxError(
                    "the engine does not hold the limits of memory and processes",
                    where="sandbox",
                    hint="rootless engines need control groups v2, delegated to the user; else run the engine as root",
                )
            self._doubted.clear()

    def _run(
        self,
        shell: str,
        command: str,
        world: World,
        needs: Sequence[str],
        condition: Condition,
        limits: Limits,
        timeout_s: float,
        walled: dict[str, dict[str, Any]] | None = None,
    ) -> Result:
        nonce = secrets.token_hex(16)
        plan = encode(
            nonce=nonce,
            shell=shell,
            command=command,
            world=world,
            needs=needs,
            condition=condition,
            limits=limits,
            timeout_s=timeout_s,
        )
        config = container_config(self.image.image_id, labels.labels(), walled or walls(limits))
        with self._room:
            document = execute(self._engine, config, plan, 4 * limits.output_bytes + (8 << 20), timeout_s + GRACE_S)
        return decode(document, nonce)

    def remove_leftovers(self) -> int:
        """Remove the containers of runs that were killed; how many there were."""
        removed = 0
        for found in self._engine.client().containers(all=True, filters={"label": labels.MARK}):
            if labels.is_gone(found["Labels"].get(labels.LABEL, "")):
                remove(self._engine, found["Id"])
                removed += 1
        return removed


def open_sandbox(config: SandboxConfig, say: Say = say) -> Sandbox:
    """The engine found or started, the image found or built, a killed run's containers removed, the canary alive."""
    engine = ensure_engine(say)
    image = ensure_image(say, engine=engine)
    sandbox = Sandbox(engine, image, config.parallel or os.cpu_count() or 1)
    with contextlib.suppress(Exception):
        if removed := sandbox.remove_leftovers():
            say(f"removed {removed} container(s) that a killed run left behind")
    sandbox.canary(EMPTY_WORLD, config.limits)
    return sandbox


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
