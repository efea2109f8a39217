"""Which of the ready jobs start next: those of the highest priority, as far as the resources reach.

Snakemake's own greedy scheduler weighs all ready jobs again for each that it takes; thousands of answers are ready to
be asked from the start. Here every look orders them once (docs/cluster.md has what that gives).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from snakemake_interface_scheduler_plugins.base import SchedulerBase

CORES = "_cores"
"""Snakemake's name for the threads that are free; every job takes at least one."""


class Scheduler(SchedulerBase):
    """Takes the ready jobs in the order of their priority; one that does not fit is passed over."""

    def select_jobs(
        self,
        selectable_jobs: Sequence[Any],
        remaining_jobs: Sequence[Any],
        available_resources: Mapping[str, Any],
        input_sizes: Mapping[Any, int],
    ) -> Sequence[Any]:
        """The jobs to start now; together they need no more of any resource than there is."""
        free = dict(available_resources)
        # The number settles equal priorities, so that jobs themselves are never compared.
        waiting = [(-job.priority, number, job) for number, job in enumerate(selectable_jobs)]
        heapq.heapify(waiting)
        chosen = []
        while waiting and free[CORES] > 0:
            _, _, job = heapq.heappop(waiting)
            needed = {name: job.scheduler_resources.get(name, 0) for name in free}
            if all(amount <= free[name] for name, amount in needed.items()):
                chosen.append(job)
                free = {name: amount - needed[name] for name, amount in free.items()}
        return chosen
