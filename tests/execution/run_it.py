"""Short ways to run a command in the sandbox under test."""

from fluency.core.records import Result
from fluency.core.study import Limits
from fluency.execution import container
from fluency.execution.engine import Engine
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import Sandbox
from tests.execution.worlds import SMALL

LIMITS = Limits()


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


def own_containers(engine: Engine, *, all: bool = False) -> list[str]:
    """Ids of this test run's containers: those that run, or all."""
    label = f"{container.LABEL}={container.LABELS[container.LABEL]}"
    return [found["Id"] for found in engine.client().containers(all=all, filters={"label": label})]


def text(result: Result) -> str:
    """Standard output without its last newline."""
    return result.stdout.data.rstrip("\n")
