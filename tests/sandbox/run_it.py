"""Short ways to run a command in the sandbox under test."""

from __future__ import annotations

from fluency.records import Result
from fluency.sandbox import Sandbox
from fluency.study import Limits
from tests.sandbox.worlds import SMALL

LIMITS = Limits()


def bash(box: Sandbox, command: str, *needs: str, timeout_s: float = 20, limits: Limits = LIMITS, **options) -> Result:
    """The command in bash, in the small world."""
    return box.run(
        shell="bash", command=command, world=SMALL, needs=needs, limits=limits, timeout_s=timeout_s, **options
    )


def pwsh(box: Sandbox, command: str, *needs: str, timeout_s: float = 30, limits: Limits = LIMITS, **options) -> Result:
    """The command in PowerShell, in the small world."""
    return box.run(
        shell="pwsh", command=command, world=SMALL, needs=needs, limits=limits, timeout_s=timeout_s, **options
    )


def text(result: Result) -> str:
    """Standard output without its last newline."""
    return result.stdout.data.rstrip("\n")
