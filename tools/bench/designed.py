"""The designed study as users wait for it: real pipeline, endpoint with 2 s latency, real limits, containers.

Its time is compared with the larger of two floors: the calls at the rate that a model allows, and the executions
back to back, as many at a time as the run had. Every answer works half a processor second before the task's reference,
about what PowerShell needs to start, and is run in Bash alone, so that the figure can be had without PowerShell.
400 cells take about ten minutes on two cores.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluency.core.study import PILOT, ModelConfig, SandboxConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.protocol import Invocation
from fluency.execution.sandbox import open_sandbox
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model, reference_answer
from tools.bench.scale import processor_s

CELLS, LATENCY_S, AT_MOST = 400, 2.0, 1.10
WORK = "for ((i = 0; i < 150000; i++)); do :; done\n"


def main(small: bool = False) -> dict[str, object]:
    """Seconds of the study and of both floors, their ratio, and processor seconds of the process that runs it."""
    tasks = load_tasks(PILOT)[: 2 if small else None]
    per_minute = int(ModelConfig.model_fields["requests_per_minute"].default)
    with (
        tempfile.TemporaryDirectory() as folder,
        Endpoint(lambda prompt: WORK + reference_answer(prompt), delay_s=LATENCY_S) as endpoint,
    ):
        models = [
            model(endpoint.url, alias, requests_per_minute=per_minute) for alias in ("one", "other")
        ]
        project = Project.make(Path(folder) / "project", models=models)
        trials = 1 if small else CELLS // (len(models) * len(tasks))
        project.configure(tasks=[task.id for task in tasks], shells=["bash"], trials=trials)
        project.snakemake("--", "results/image.json")
        executions_s = _back_to_back(tasks, trials)
        before, began = processor_s(), time.monotonic()
        done = subprocess.run(
            project.command("--workflow-profile", "profiles/default"), cwd=project.root, env=project.environ(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds, used_s = time.monotonic() - began, processor_s() - before
        executions_s += _back_to_back(tasks, trials)
        assert done.returncode == 0, done.stderr
        asked = len(endpoint.requests)
    calls_s = asked / len(models) / per_minute * 60
    floor_s = max(calls_s, executions_s)
    return {
        "cells": asked,
        "study, s": round(seconds, 1),
        "calls at the allowed rate, s": round(calls_s, 1),
        "executions back to back, s": round(executions_s, 1),
        f"study / larger floor (at most {AT_MOST})": round(seconds / floor_s, 2),
        "processor seconds of the run's process": round(used_s, 1),
    }


def _back_to_back(tasks: Sequence[Task], trials: int) -> float:
    """Seconds of the executions that one model's answers need, with nothing else going on.

    Half of the study's: once before it and once after, so that other load on the machine slows both.
    """
    sandbox = open_sandbox(SandboxConfig())
    limits, seeds = (
        SandboxConfig().limits,
        Study.model_fields["seeds"].get_default(call_default_factory=True),
    )
    invocations = [
        Invocation("bash", WORK + task.references["bash"][0], world_for(task, seed), limits, limits.timeout_s["bash"],
                   task.needs)
        for _ in range(trials) for task in tasks for seed in seeds
    ]  # fmt: skip
    began = time.monotonic()
    with ThreadPoolExecutor(sandbox.parallel) as pool:
        for result in pool.map(sandbox.run, invocations):
            assert result.exit_code == 0
    return time.monotonic() - began
