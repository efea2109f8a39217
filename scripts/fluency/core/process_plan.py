"""What the sandbox will read of a world's helpers, as far as the plan says it before any of them runs."""

from __future__ import annotations

from fluency.core.records import ProcessFact
from fluency.world import HelperSpec, World

RUNNER_PID = 1


def planned_processes(world: World) -> list[ProcessFact]:
    """The process facts that a world's plan leads to, with process ids given out in the order of the plan: of those
    that stay, under the parents that have them then, with the arguments that hold process ids filled in."""
    helpers = {helper.key: helper for helper in world.processes}
    pids = {key: 41 + 3 * number for number, key in enumerate(helpers)}

    def above(helper: HelperSpec) -> list[HelperSpec]:
        """Those that a helper descends from, nearest first."""
        return [helpers[helper.parent], *above(helpers[helper.parent])] if helper.parent else []

    def fact(helper: HelperSpec) -> ProcessFact:
        ancestors = above(helper)
        starters = [*(pids[one.key] for one in ancestors), RUNNER_PID, RUNNER_PID]
        parent = starters[0]
        if ancestors and ancestors[0].ends:
            parent = next((pids[one.key] for one in ancestors if one.subreaper and not one.ends), RUNNER_PID)
        ids = {"%P": str(starters[0]), "%PP": str(starters[1])}
        leader = next(one for one in (helper, *ancestors) if one.own_session or one.parent is None)
        return ProcessFact(
            pid=pids[helper.key],
            name=helper.name,
            ppid=parent,
            rss_bytes=helper.rss_mb * 1024 * 1024,
            args=[ids.get(arg, arg) for arg in helper.args],
            threads=1 + len(helper.threads),
            session=pids[leader.key],
        )

    return [fact(helper) for helper in world.processes if not helper.ends]
