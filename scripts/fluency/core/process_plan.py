"""What the sandbox will read of a world's helpers, as far as the plan says it before any of them runs."""

from __future__ import annotations

from fluency.core.records import ProcessFact
from fluency.world import World


def planned_processes(world: World) -> list[ProcessFact]:
    """The process facts that a world's plan leads to, with process ids given out in the order of the plan."""
    pids = {helper.key: 41 + 3 * number for number, helper in enumerate(world.processes)}
    return [
        ProcessFact(
            pid=pids[helper.key],
            name=helper.name,
            ppid=pids.get(helper.parent, 1) if helper.parent else 1,
            rss_bytes=helper.rss_mb * 1024 * 1024,
            args=list(helper.args),
        )
        for helper in world.processes
    ]
