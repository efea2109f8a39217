"""What a shell costs before it does anything: the time of an empty command, in the image that measures."""

from __future__ import annotations

from statistics import median

from fluency.core.shells import SHELLS
from fluency.core.study import Limits
from fluency.execution.execute import Executor
from fluency.execution.invocation import Invocation
from fluency.world import World

REPEATS = 5


def start_up_times(sandbox: Executor, world: World, limits: Limits) -> dict[str, float]:
    """Median seconds of an empty command in each shell the image holds, one after the other."""
    return {
        shell: round(
            median(
                sandbox.run(
                    Invocation(shell, SHELLS[shell].empty_command, world, limits, limits.timeout_s[shell])
                ).wall_s
                for _ in range(REPEATS)
            ),
            4,
        )
        for shell in SHELLS
        if sandbox.image.shells.get(shell)
    }
