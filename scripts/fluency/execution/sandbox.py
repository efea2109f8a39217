"""One invocation in one container, and the canary: a command whose result is known."""

import contextlib
import secrets
import shlex
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from fluency.common.errors import MachineBusy, ResultLost, RunEnded, SandboxError, StopRun
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo, Result
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.execution import isolation
from fluency.execution.container import (
    LABEL,
    LABELS,
    NEXT_RUN,
    WHERE,
    read_result,
    remove,
    run_container,
)
from fluency.execution.engine import Engine, ensure_engine
from fluency.execution.image import ensure_image, why_missing
from fluency.execution.isolation import MeasureRefused, Measures, profile_sha256
from fluency.execution.protocol import EMPTY_WORLD, PATIENCE, Invocation, encode
from fluency.world import World

TEXT = "canary \\ $HOME 'ü'"
# Engines' own profiles let a program pretend to be on a 32-bit machine, the project's does not.
FILTERED = "setarch linux32 true 2>/dev/null && echo wide || echo reduced"
# Where the two versions of control groups show the limits; empty where the engine hides them.
IN_FORCE = "/sys/fs/cgroup/{memory/memory.limit_in_bytes,memory.max,pids/pids.max,pids.max}"
TIMEOUT_S = 30.0
REMOVED_S = 3.0  # what is left after it ends by its own time limit
GRACE_S = 60.0  # for start, world and helpers, on a machine that is busy with others


class Sandbox:
    """Runs commands; safe to call from several threads. Shell's image and `engine` are recorded.

    `refused`: why the engine does not take the seccomp profile, which is then left out.
    """

    def __init__(
        self, engine: Engine, images: Mapping[str, ImageInfo], config: SandboxConfig
    ) -> None:
        self.images = images
        self.engine: dict[str, Any] = engine.facts | {"seccomp_profile": profile_sha256()}
        if config.runtime:
            self.engine["runtime"] = config.runtime
        self.refused = ""
        self.parallel = config.containers
        self._engine = engine
        self._slots = threading.BoundedSemaphore(self.parallel)
        self._stopped: StopRun | None = None
        self._needs_canary = False
        self._canary_lock = threading.Lock()

    def run(self, invocation: Invocation) -> Result:
        """One command in one world; SandboxError when it could not be measured.

        A result that was lost after the command had started is the command's failure if the canary
        then succeeds. StopRun if the machine is too busy for the canary, too.
        """
        if why := self.why_missing(invocation.shell):
            raise SandboxError(why, where=WHERE, hint="`make doctor` says how")
        if self._needs_canary:
            self.canary(invocation.limits)
        try:
            result = self._run(invocation)
        except SandboxError as error:
            self._needs_canary = True
            if isinstance(error, MachineBusy):
                self.canary(invocation.limits)
            raise
        if result.lost is not None:
            self._needs_canary = True
            try:
                self.canary(invocation.limits)
            except SandboxError as error:
                what = f"{result.lost}, and then: {error.what}"
                raise ResultLost(what, where=WHERE, hint=error.hint) from None
        return result

    def end(self) -> None:
        """Remove all containers, also those that are just being started, and start no other.

        A command that ran in one has no result, and no failed attempt.
        """
        self._stopped = RunEnded("the run was ended", where=WHERE, hint=NEXT_RUN)
        mine = {"label": f"{LABEL}={LABELS[LABEL]}"}
        until = time.monotonic() + REMOVED_S
        while time.monotonic() < until:
            with contextlib.suppress(Exception):  # a busy engine answers late, or of another state
                left = self._engine.client(timeout=1).containers(all=True, filters=mine)
                if not left:
                    return
                with ThreadPoolExecutor(len(left)) as pool:
                    pool.map(lambda found: remove(self._engine, found["Id"], timeout_s=1), left)
            time.sleep(0.05)

    def why_missing(self, shell: str) -> str | None:
        """Why a shell cannot be measured in its image; None if it can."""
        why = why_missing(self._engine, self.images[shell], shell)
        return why and f"the sandbox image holds no {SHELLS[shell].title}: {why}"

    def canary(self, limits: Limits) -> None:
        """Run a command whose result is known; SandboxError if it gives another.

        It prints a text that is easily garbled, then which seccomp profile and limits are in force.
        MeasureRefused if the profile should be and is not.
        """
        with self._canary_lock:
            text = f"printf '%s\\n' {shlex.quote(TEXT)}; {FILTERED}; cat {IN_FORCE} 2>/dev/null"
            command = f"{text}; printf canary >&2; exit 7"
            shell = DESIGN_SHELLS[0]
            try:
                result = self._run(Invocation(shell, command, EMPTY_WORLD, limits, TIMEOUT_S))
            except MachineBusy as lost:
                what = f"{lost.what} for a command with a known result, too"
                hint = "end the other programs, then run again: no answer is asked for twice"
                self._stopped = StopRun(what, where=WHERE, hint=hint)
                raise self._stopped from None
            text, filtered, *found = [*result.stdout.data.split("\n"), ""]
            kind, what = SandboxError, ""
            if (result.exit_code, text, result.stderr.data) != (7, TEXT, "canary"):
                gave = f"{result.exit_code}, {result.stdout.data[:80]!r}"
                what = f"a command with a known result gave another: {gave}"
                hint = "rebuild the image: `make image`"
            elif not set(filter(None, found)) <= {str(limits.memory_mb << 20), str(limits.pids)}:
                what = "the engine does not enforce the limits of memory and processes"
                hint = "rootless engines need control groups v2, delegated to the user"
            elif not self.refused and filtered == "wide":
                kind, what = MeasureRefused, "the engine does not enforce the seccomp profile"
                hint = "give it its usual runtime back"
            if what:
                raise kind(what, where=WHERE, hint=hint)
            self._needs_canary = False

    def _run(self, invocation: Invocation, measures: Measures | None = None) -> Result:
        """One command, with the given isolation measures or all that the engine takes."""
        limits, nonce = invocation.limits, secrets.token_hex(16)
        if measures is None:
            runtime = self.engine.get("runtime", "")
            measures = isolation.isolation(limits, self.engine["name"], runtime)
            if self.refused:
                del measures["seccomp"]
            if self.engine.get("rootless"):  # its users rarely have the processors' controller
                del measures["more-weight"]
        image = self.images.get(invocation.shell) or next(iter(self.images.values()))
        config = isolation.container_config(image.image_id, LABELS, measures)
        sent = encode(invocation, nonce)
        max_bytes = 4 * limits.output_bytes + (8 << 20)
        timeout_s = PATIENCE * invocation.timeout_s + GRACE_S
        with self._slots:
            self._check_stopped()
            try:
                session = run_container(self._engine, config, sent, max_bytes, timeout_s)
                return read_result(self._engine, session, nonce)
            finally:
                self._check_stopped()

    def _check_stopped(self) -> None:
        if self._stopped:
            raise self._stopped


def open_sandbox(config: SandboxConfig, shells: Iterable[str] = SHELLS) -> Sandbox:
    """Find or start the engine, find or build the shells' images, run the canary."""
    engine = ensure_engine()
    images = {shell: ensure_image(engine, shell) for shell in shells}
    sandbox = checked_sandbox(engine, images, config)
    if why := sandbox.refused:
        log_line(f"{why}; the run goes on without this measure, and every record says so")
    return sandbox


def checked_sandbox(
    engine: Engine, images: Mapping[str, ImageInfo], config: SandboxConfig
) -> Sandbox:
    """A sandbox whose canary succeeded, with the engine's seccomp profile where it refuses ours."""
    sandbox = Sandbox(engine, images, config)
    try:
        sandbox.canary(config.limits)
    except MeasureRefused as error:
        sandbox.refused = error.what
        sandbox.engine["seccomp_profile"] = isolation.ENGINE_DEFAULT
        sandbox.canary(config.limits)
    return sandbox


REPEATS = 5


def startup_times(sandbox: Sandbox, shell: str, world: World, limits: Limits) -> dict[str, float]:
    """The shell -> median seconds of its empty command; empty if its image lacks it."""
    if sandbox.why_missing(shell):
        return {}
    command, deadline_s = SHELLS[shell].empty_command, limits.deadline_s(shell)
    empty = Invocation(shell, command, world, limits, deadline_s)
    return {shell: round(median(sandbox.run(empty).wall_s for _ in range(REPEATS)), 4)}
