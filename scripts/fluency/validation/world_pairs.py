"""Two worlds that are scored together: no task may have the same answer in both."""

from __future__ import annotations

from collections.abc import Sequence

from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.core.process_plan import planned_processes
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.world.model import WorldError


def check_seeds(seeds: Sequence[int]) -> None:
    """UserError unless there is an odd seed and an even one."""
    if {seed % 2 for seed in seeds} != {0, 1}:
        raise UserError(
            "worlds come in pairs of an odd and an even seed",
            where=f"seeds: {', '.join(map(str, seeds))}",
            hint="write one odd and one even seed, for example 11 and 24",
        )


def check_pair(seeds: Sequence[int], tasks: Sequence[Task]) -> None:
    """WorldError if a task's answer is the same in an odd and an even world.

    Answers that hold process ids are known only when the processes run; for them the answer to the plan must differ.
    """
    check_seeds(seeds)
    for task in tasks:
        seen: dict[str, int] = {}
        for seed in seeds:
            world = world_for(task, seed)
            processes = planned_processes(world) if "processes" in task.needs else []
            answer = canonical_json(task.expected(world, processes))
            twin = seen.setdefault(answer, seed)
            if twin % 2 != seed % 2:
                raise WorldError(seed, f"{task.id} has the same answer as in world {twin}")
