"""Short ways to run a command in the sandbox under test, and to wait for what follows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from fluency.core.records import Result
from fluency.core.study import Limits
from fluency.execution.invocation import Invocation
from fluency.execution.sandbox.sandbox import Sandbox
from tests.execution.worlds import SMALL

LIMITS = Limits()
Found = TypeVar("Found")


def bash(
    sandbox: Sandbox, command: str, *needs: str, timeout_s: float = 20, limits: Limits = LIMITS, **options
) -> Result:
    """The command in bash, in the small world."""
    return sandbox.run(Invocation("bash", command, SMALL, limits, timeout_s, needs, **options))


def pwsh(
    sandbox: Sandbox, command: str, *needs: str, timeout_s: float = 30, limits: Limits = LIMITS, **options
) -> Result:
    """The command in PowerShell, in the small world."""
    return sandbox.run(Invocation("pwsh", command, SMALL, limits, timeout_s, needs, **options))


def text(result: Result) -> str:
    """Standard output without its last newline."""
    return result.stdout.data.rstrip("\n")


def wait_for(what: Callable[[], Found], seconds: float = 20) -> Found:
    """The first true answer of `what`, asked again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")
