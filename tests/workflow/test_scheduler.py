"""How often Snakemake looks for jobs, and which it takes."""

import itertools
import logging
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snakemake.scheduling import greedy

from fluency.core.study import read_study
from fluency.core.tasks import load_tasks
from fluency.generation.request import build_prompt
from fluency.workflow.snakemake_internals import model_resources, share_threads
from snakemake_scheduler_plugin_fluency import FAIR_SHARE, Scheduler
from tests.generation.endpoint import Endpoint
from tests.workflow.noop import noop_project, noop_run
from tests.workflow.project import model


def test_waiting_for_answers_polls_no_jobs(tmp_path):
    with Endpoint(lambda prompt: "true", delay_s=1.5) as endpoint:
        project = noop_project(tmp_path / "project", [model(endpoint.url, in_flight=1)], 20)
        project.configure(tasks=["tree-size-bytes"], shells=["bash"], trials=4)
        done = project.run([*noop_run(project, "cells"), "--cores", "2", "--verbose"], 0, {})
    looks, jobs = done.stderr.count("Ready jobs: "), done.stderr.count("Finished jobid")
    assert jobs and looks <= 2 * jobs


class Job:
    input = ()

    def __init__(self, priority, resources):
        self.priority = priority
        self.scheduler_resources = resources


AMOUNTS = st.fixed_dictionaries({"_cores": st.integers(1, 4), "mem": st.integers(0, 4)})
JOBS = st.lists(
    st.tuples(st.integers(0, 1 << 42), AMOUNTS), unique_by=lambda job: job[0], max_size=12
)


@settings(deadline=None)
@given(JOBS, AMOUNTS, st.booleans())
def test_scheduler_starts_the_jobs_of_snakemakes_greedy_one(jobs, free, none_free):
    ready = [Job(*job) for job in jobs]
    free = free | {"_job_count": sys.maxsize} | ({"_cores": 0} if none_free else {})
    logger = logging.getLogger(__name__)
    greedy_one = greedy.Scheduler(None, greedy.SchedulerSettings(), logger)
    weighed = greedy_one.select_jobs(ready, ready, free, {})
    chosen = Scheduler(None, None, logger).select_jobs(ready, ready, dict(free), {})
    assert {id(job) for job in chosen} == ({id(job) for job in weighed} if not none_free else set())


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", *"abc"])), max_size=20),
    st.fixed_dictionaries({alias: st.integers(0, 4) for alias in "abc"}),
    st.integers(0, 12),
)
def test_scheduler_asks_models_evenly_and_last(jobs, under_way, cores):
    ready = [
        Job(priority, {"_cores": 1} | ({FAIR_SHARE + alias: 1} if alias else {}))
        for priority, alias in jobs
    ]
    free = {"_cores": 0} | {FAIR_SHARE + alias: 100 for alias in "abc"}
    scheduler = Scheduler(None, None, logging.getLogger())
    scheduler.select_jobs([], [], free, {})
    free |= {"_cores": cores}
    free |= {FAIR_SHARE + alias: 100 - number for alias, number in under_way.items()}
    chosen = scheduler.select_jobs(ready, ready, free, {})
    assert len(chosen) == min(cores, len(ready))
    taken: dict[str, list[Job]] = {alias: [] for alias in ("", *"abc")}
    left: dict[str, list[Job]] = {alias: [] for alias in ("", *"abc")}
    for job, (_, alias) in zip(ready, jobs, strict=True):
        (taken if job in chosen else left)[alias].append(job)
    for alias in left:
        assert all(job.priority <= other.priority for job in left[alias] for other in taken[alias])
    for one, other in itertools.product("abc", repeat=2):
        assert not (taken[one] and left[""])
        if taken[one] and left[other]:
            assert under_way[one] + len(taken[one]) <= under_way[other] + len(taken[other]) + 1


@pytest.mark.parametrize("in_flight, apart", [(1, 0), (4, 4)])
def test_cells_are_asked_in_the_planned_order(in_flight, apart, tmp_path):
    """Exactly with one call in flight; else a cell is overtaken by those in flight at most."""
    with Endpoint(lambda prompt: "true", delay_s=0.05) as endpoint:
        models = [model(endpoint.url, "good", in_flight=in_flight)]
        project = noop_project(tmp_path / "project", models, 20)
        project.configure(tasks=["tree-size-bytes", "stale-lockfiles"], trials=6)
        project.run([*noop_run(project, "cells"), "--cores", "8"], 0, {})
        asked = endpoint.prompts
    study = read_study(project.root / "config/test.yaml")
    tasks = load_tasks(study.tasks)
    text_of = {task.id: task.prompt for task in tasks}
    cells = sorted(study.cells(list(text_of)), key=study.priority, reverse=True)
    planned = [build_prompt(text_of[cell.task], cell.shell) for cell in cells]
    assert sorted(asked) == sorted(planned) and len(set(planned)) == 4
    for end in range(1, len(planned)):
        behind = Counter(planned[:end]) - Counter(asked[: end + apart])
        assert not behind, (end, behind.total())


def test_budget_stop_leaves_first_turns_of_every_model_whole(tmp_path):
    """However much faster another model answers; the next run asks what is left."""
    price = {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15, "dated": "2026-11-28"}
    over = {"in_flight": 1, "price": price, "max_tokens": 16}
    with Endpoint(lambda prompt: "true") as fast, Endpoint(fast.answer, delay_s=0.2) as slow:
        models = [model(fast.url, "fast", **over), model(slow.url, "slow", **over)]
        project = noop_project(tmp_path / "project", models, 20)
        few = {"tasks": ["tree-size-bytes"], "trials": 4, "turns": 2}
        project.configure(**few, budget={"stop_usd": 0.009, "confirm_usd": 1})
        run = [*noop_run(project, "cells"), "--cores", "8"]
        assert "budget.stop_usd" in project.run(run, 1, {}).stderr
        asked = [*fast.requests, *slow.requests]
        first = [seen.at for seen in asked if seen.turn == 1]
        later = [seen.at for seen in asked if seen.turn == 2]
        assert len(first) == 16 > len(later) > 0 and max(first) < min(later)
        assert len([*(project.root / "answers").rglob("*.json")]) == len(asked)
        project.configure(budget={"stop_usd": 1})
        project.run(run, 0, {})
        assert len(fast.requests) == 16 == len(slow.requests)


def test_running_executions_and_calls_are_limited():
    """One execution waits for the next free container, so that threads are left for asking."""
    study, registered = read_study(), dict[str, int]()
    share_threads(SimpleNamespace(register_resource=registered.__setitem__), study)
    calls = {f"{FAIR_SHARE}{each.alias}": each.in_flight for each in study.models}
    assert registered == {"containers": study.sandbox.containers + 1, **calls}
    (model,) = study.models
    (asks,) = model_resources(study).values()
    assert asks(SimpleNamespace(model=model.alias)) == 1
    assert asks(SimpleNamespace(model="other")) is None
