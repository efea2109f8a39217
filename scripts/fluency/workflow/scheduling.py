"""What a run tells Snakemake's scheduler: what its threads are for, and when there is something to look at.

Which of the ready jobs start next decides `snakemake_scheduler_plugin_fluency`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from fluency.core.study import Study
from snakemake_scheduler_plugin_fluency import EVENLY, Scheduler

CONTAINERS = "containers"
"""The resource of which each execution needs one."""
AT_THE_DOOR = 1
"""Executions that are started beyond the containers at a time, so that none stays idle while Snakemake notes an end."""


def share_threads(workflow: Any, study: Study) -> None:
    """Tell Snakemake how many executions may be under way, and have it count the answers that each model is asked for.

    More executions would wait for a container on threads that could ask; fewer would let containers idle.
    """
    workflow.register_resource(CONTAINERS, study.sandbox.containers + AT_THE_DOOR)
    for model in study.models:
        workflow.register_resource(EVENLY + model.alias, sys.maxsize)


def asked(study: Study) -> dict[str, Callable[[Any], int | None]]:
    """The resources of the rule that asks: one of the model's own, none of the others'."""

    def of(alias: str) -> Callable[[Any], int | None]:
        return lambda wildcards: 1 if wildcards.model == alias else None

    return {EVENLY + model.alias: of(model.alias) for model in study.models}


def look_seldom(workflow: Any) -> None:
    """Have the scheduler look for jobs when something has happened, and at nothing that nobody weighs.

    Snakemake (9.27) limits jobs to so many a second by default. With that limit each look for jobs brings about another
    one a second later, for ever: after 400 jobs the scheduler looks 400 times a second, at more processor time than all
    that the jobs need themselves. A model's limits are kept by `generation/pace.py`. And each look asks for the
    size of every ready job's inputs, thousands of files where executions wait for containers.
    """
    scheduler = workflow.scheduler
    if workflow.local_exec:  # jobs are threads of this run
        scheduler.job_rate_limiter = None
        scheduler._open_jobs = Bell()
    if isinstance(scheduler._scheduler, Scheduler):
        scheduler.update_input_sizes = _no_sizes


async def _no_sizes(_: Any) -> None:
    """No input was weighed."""


class Bell:
    """Stands in for the semaphore that wakes the scheduler: however often it was rung, there is one look to take.

    A look deals with all that has happened by then. The semaphore counts each end of a job, so that after eight of
    them in one look seven more looks find nothing.
    """

    def __init__(self) -> None:
        self._rung = threading.Event()
        self._rung.set()  # the first look, which the semaphore was given already

    def release(self) -> None:
        """Something happened."""
        self._rung.set()

    def acquire(self) -> None:
        """Wait until something has happened since the last look."""
        self._rung.wait()
        self._rung.clear()
