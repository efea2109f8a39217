"""Chooses the jobs to start next: jobs of the highest priority, as far as the resources suffice.

Snakemake's own greedy scheduler compares all ready jobs again for each that it takes, and thousands
of answers are ready from the start. This one sorts them once a poll (times: docs/evidence.md).

Jobs with a fair-share resource come after all others, each time one of the resource with the fewest
running jobs: by priority alone, all threads might be taken by one model, whose calls wait for each
other, and none by the others. Of these jobs only the earliest turn's start.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from snakemake_interface_scheduler_plugins.base import SchedulerBase

from fluency.core.study import TURN

CORES = "_cores"
"""Snakemake's name for the threads that are free; every job takes at least one."""
FAIR_SHARE = "in_flight_"
"""The prefix of a fair-share resource: all get the same number of jobs, up to its amount."""


class Scheduler(SchedulerBase):
    """Takes the ready jobs in the order of their priority, without those that do not fit."""

    _amounts: Mapping[str, Any] = MappingProxyType({})

    def select_jobs(
        self,
        selectable_jobs: Sequence[Any],
        remaining_jobs: Sequence[Any],
        available_resources: Mapping[str, Any],
        input_sizes: Mapping[Any, int],
    ) -> Sequence[Any]:
        """The jobs to start now; together they need no more of any resource than there is."""
        free = dict(available_resources)
        if not self._amounts:  # nothing runs yet
            self._amounts = dict(free)
        shared = [name for name in free if name.startswith(FAIR_SHARE)]
        waiting: dict[str, list[tuple[int, int, Any]]] = defaultdict(list)
        names = [_first_in(shared, job.scheduler_resources) for job in selectable_jobs]
        jobs = [*zip(names, selectable_jobs, strict=True)]
        # A budget stop must leave the first turns of every model whole.
        turn = max((job.priority // TURN for name, job in jobs if name), default=0)
        for number, (name, job) in enumerate(jobs):
            if not name or job.priority // TURN == turn:
                # The number decides between equal priorities: jobs cannot be compared.
                waiting[name].append((-job.priority, number, job))
        for queue in waiting.values():
            heapq.heapify(queue)
        chosen = []
        while waiting and free[CORES] > 0:
            least = "" if "" in waiting else min(waiting, key=lambda n: self._amounts[n] - free[n])
            _, _, job = heapq.heappop(waiting[least])
            if not waiting[least]:
                del waiting[least]
            needed = {name: job.scheduler_resources.get(name, 0) for name in free}
            if all(amount <= free[name] for name, amount in needed.items()):
                chosen.append(job)
                free = {name: amount - needed[name] for name, amount in free.items()}
        return chosen


def _first_in(names: Sequence[str], resources: Mapping[str, Any]) -> str:
    return next((name for name in names if name in resources), "")
