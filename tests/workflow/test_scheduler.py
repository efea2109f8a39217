"""How often Snakemake looks for jobs, and which it takes."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from snakemake.scheduling import greedy

from bench.workflow import noop_project, noop_run
from fluency.workflow.front import Bell
from snakemake_scheduler_plugin_fluency import Scheduler
from tests.generation.endpoint import Endpoint
from tests.workflow.project import model


def test_waiting_for_answers_costs_no_looks(tmp_path: Path) -> None:
    with Endpoint(lambda prompt: "true", delay_s=1.5) as endpoint:
        project = noop_project(tmp_path / "project", [model(endpoint.url, in_flight=1)], 20)
        project.configure(tasks=["tree-size-bytes"], shells=["bash"], trials=8)
        done = subprocess.run(
            [*noop_run(project, "cells"), "--cores", "2", "--verbose"],
            cwd=project.root,
            env=project.environ(),
            capture_output=True,
            text=True,
            check=True,
        )
    looks, jobs = done.stderr.count("Ready jobs: "), done.stderr.count("Finished jobid")
    assert jobs and looks <= 2 * jobs


class Job:
    """What a scheduler may know of a job."""

    input = ()

    def __init__(self, priority: int, resources: dict[str, int]) -> None:
        self.priority = priority
        self.scheduler_resources = resources


AMOUNTS = st.fixed_dictionaries({"_cores": st.integers(1, 4), "mem": st.integers(0, 4)})
JOBS = st.lists(st.tuples(st.integers(0, 1 << 42), AMOUNTS), unique_by=lambda job: job[0], max_size=12)


@given(JOBS, AMOUNTS, st.booleans())
def test_the_jobs_that_start_are_those_that_snakemake_would_weigh_out(
    jobs: list[tuple[int, dict[str, int]]], free: dict[str, int], none_free: bool
) -> None:
    ready = [Job(*job) for job in jobs]
    free = {"_cores": 0 if none_free else free["_cores"], "mem": free["mem"], "_job_count": sys.maxsize}
    logger = logging.getLogger(__name__)
    weighed = greedy.Scheduler(None, greedy.SchedulerSettings(), logger).select_jobs(ready, ready, free, {})
    chosen = Scheduler(None, None, logger).select_jobs(ready, ready, dict(free), {})
    assert {id(job) for job in chosen} == ({id(job) for job in weighed} if not none_free else set())


def test_equal_priorities_are_taken_as_they_come() -> None:
    ready = [Job(0, {"_cores": 1}) for _ in range(3)]
    assert Scheduler(None, None, logging.getLogger()).select_jobs(ready, ready, {"_cores": 2}, {}) == ready[:2]


def test_however_often_the_bell_rang_there_is_one_look() -> None:
    bell, looked = Bell(), threading.Event()
    bell.acquire()  # the first look needs no event
    for _ in range(8):
        bell.release()
    bell.acquire()
    threading.Thread(target=lambda: (bell.acquire(), looked.set()), daemon=True).start()
    assert not looked.wait(0.2)
    bell.release()
    assert looked.wait(30)
