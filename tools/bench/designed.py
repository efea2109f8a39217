"""The designed study as users wait for it: 2 s of latency, real limits, real containers.

Its time is compared with the larger of two floors: the calls at the rate that a model allows, and
the executions back to back, at the run's parallelism. Every answer works half a processor second
before the task's reference, about what PowerShell needs to start, and is run in Bash alone, so that
the figure can be had without PowerShell. 400 cells take about ten minutes on two cores.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.core.study import PILOT, ModelConfig, SandboxConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import open_sandbox
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model, reference_answer

TRIALS, LATENCY_S, AT_MOST = 10, 2.0, 1.10
WORK = "for ((i = 0; i < 150000; i++)); do :; done\n"


def main(small: bool = False) -> dict[str, object]:
    """Seconds of the study and of both floors, and the study as a multiple of the larger floor."""
    tasks, trials = load_tasks(PILOT)[: 2 if small else None], 1 if small else TRIALS
    per_minute = int(ModelConfig.model_fields["requests_per_minute"].default)

    def answer(prompt: str) -> str:
        return WORK + reference_answer(prompt)

    with tempfile.TemporaryDirectory() as folder, Endpoint(answer, delay_s=LATENCY_S) as endpoint:
        models = [model(endpoint.url, name, requests_per_minute=per_minute) for name in "ab"]
        project = Project.make(Path(folder) / "project", models=models)
        project.configure(tasks=[task.id for task in tasks], shells=["bash"], trials=trials)
        project.snakemake("--", "results/images/bash.json")
        # One model's executions before the study and one's after it: other load slows both.
        executions_s = back_to_back(tasks * trials)
        began = time.monotonic()
        command = project.command("--workflow-profile", "profiles/default")
        project.run(command, 0, {})
        seconds = time.monotonic() - began
        executions_s += back_to_back(tasks * trials)
        asked = len(endpoint.requests)
    calls_s = asked / len(models) / per_minute * 60
    return {
        "cells": asked,
        "study, s": round(seconds, 1),
        "calls at the allowed rate, s": round(calls_s, 1),
        "executions back to back, s": round(executions_s, 1),
        f"study / larger floor (at most {AT_MOST})": round(seconds / max(calls_s, executions_s), 2),
    }


def back_to_back(tasks: list[Task]) -> float:
    """Seconds of the executions of one answer to each of the tasks, with nothing else running."""
    sandbox, limits = open_sandbox(SandboxConfig()), SandboxConfig().limits
    seeds = Study.model_fields["seeds"].get_default(call_default_factory=True)
    invocations = []
    for task in tasks:
        command, timeout_s = WORK + task.references["bash"][0], limits.deadline_s("bash")
        for seed in seeds:
            world = world_for(task, seed)
            invocations.append(Invocation("bash", command, world, limits, timeout_s, task.needs))
    began = time.monotonic()
    with ThreadPoolExecutor(sandbox.parallel) as pool:
        assert all(result.exit_code == 0 for result in pool.map(sandbox.run, invocations))
    return time.monotonic() - began
