"""The sandbox as the pipeline sees it: one invocation, one fresh container, one result."""

from __future__ import annotations

import contextlib
import secrets
import threading
from typing import Any

from fluency.common.errors import Interrupted, SandboxError
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo, Result
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, SandboxConfig
from fluency.execution.invocation import Invocation
from fluency.execution.sandbox import labels
from fluency.execution.sandbox.canary import canary, check, check_identity
from fluency.execution.sandbox.container import SysctlsRefused, run_container
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.image import ensure_image, why_missing
from fluency.execution.sandbox.isolation import Measures, container_config, isolation, without_sysctls
from fluency.execution.sandbox.leftovers import remove_of_ended_runs, remove_unconfirmed
from fluency.execution.sandbox.outcome import result_of
from fluency.execution.sandbox.protocol import encode, read_start
from fluency.execution.sandbox.seccomp import ENGINES_OWN, ProfileRefused, profile_sha256
from fluency.execution.sandbox.start_engine import ensure_engine

NO_SYSCTLS = "takes_no_sysctls"
GRACE_S = 60.0  # for start, world and helpers, on a machine that is busy with others


class Sandbox:
    """Runs commands; safe to call from several threads. `image` and `engine` go into every record."""

    def __init__(self, engine: Engine, image: ImageInfo, parallel: int) -> None:
        self.image = image
        self.engine: dict[str, Any] = engine.facts | {"seccomp_profile": profile_sha256()}
        self.parallel = parallel
        self._engine = engine
        self._slots = threading.BoundedSemaphore(parallel)
        self._doubted = threading.Event()
        self._canary_lock = threading.Lock()

    def run(self, invocation: Invocation) -> Result:
        """One command in one world, measured; SandboxError when it could not be measured.

        A result that was lost after the command had started is the command's failure if the sandbox is then found
        to be sane.
        """
        if not self.image.shells.get(invocation.shell):
            raise SandboxError(
                f"the image holds no {SHELLS[invocation.shell].title}", where="sandbox", hint="`make doctor` says how"
            )
        if self._doubted.is_set():
            self.canary(invocation.limits)
        try:
            result = self._run(invocation)
        except SandboxError:
            self._doubted.set()
            raise
        if result.lost is not None:
            self._doubted.set()
            try:
                self.canary(invocation.limits)
            except SandboxError as error:
                raise Interrupted(f"{result.lost}, and then: {error.what}", where="sandbox", hint=error.hint) from None
        return result

    def why_missing(self, shell: str) -> str | None:
        """Why the image holds no such shell; None if it does."""
        return why_missing(self._engine, self.image, shell)

    def canary(self, limits: Limits) -> None:
        """A command whose result is known; SandboxError if the sandbox gives another, or does not hold its limits."""
        with self._canary_lock:
            check(self._run(canary(limits)), limits, self._reduced)
            self._doubted.clear()

    def settle(self, limits: Limits) -> str | None:
        """The canary; why the engine's own seccomp profile holds from here on, where it does not take the project's."""
        try:
            self.canary(limits)
        except ProfileRefused as error:
            self.engine["seccomp_profile"] = ENGINES_OWN
            self.canary(limits)
            return error.what
        return None

    @property
    def _reduced(self) -> bool:
        """Whether the project's seccomp profile holds, and not the engine's own."""
        return bool(self.engine["seccomp_profile"] != ENGINES_OWN)

    def _isolation(self, limits: Limits) -> Measures:
        every = isolation(limits, self.engine["name"])
        return every if self._reduced else {name: part for name, part in every.items() if name != "seccomp"}

    def _run(self, invocation: Invocation, measures: Measures | None = None) -> Result:
        """One command behind the given isolation measures instead of all that the engine takes."""
        if measures is None and not self.engine.get(NO_SYSCTLS):
            try:
                return self._run(invocation, self._isolation(invocation.limits))
            except SysctlsRefused:
                self.engine[NO_SYSCTLS] = True
        measures = measures or without_sysctls(self._isolation(invocation.limits))
        limits, nonce = invocation.limits, secrets.token_hex(16)
        config = container_config(self.image.image_id, labels.labels(), measures)
        most_bytes, within_s = 4 * limits.output_bytes + (8 << 20), invocation.timeout_s + GRACE_S
        with self._slots:
            remove_unconfirmed(self._engine)
            talk = run_container(self._engine, config, encode(invocation, nonce), most_bytes, within_s)
            result = result_of(self._engine, talk, nonce)
        if invocation.identify and (start := read_start(talk.output, nonce)):
            check_identity(self.image, start.identity)
        return result

    def remove_leftovers(self) -> int:
        """Remove the containers of runs that were killed; how many there were."""
        return remove_of_ended_runs(self._engine)


def open_sandbox(config: SandboxConfig) -> Sandbox:
    """The engine found or started, the image found or built, a killed run's containers removed, the canary alive."""
    engine = ensure_engine()
    image = ensure_image(engine=engine)
    sandbox = Sandbox(engine, image, config.containers)
    with contextlib.suppress(Exception):
        if removed := sandbox.remove_leftovers():
            log_line(f"removed {removed} container(s) that a killed run left behind")
    if why := sandbox.settle(config.limits):
        log_line(f"{why}; the engine's own holds instead, and every record says so")
    return sandbox
