"""What the workflow itself costs: a no-op rerun of 400 cells, and 400 cells with an instant model and no sandbox."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import yaml

from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model

CELLS = 400
TARGET_MS_PER_JOB = 20


class Times(NamedTuple):
    """Of one run, in seconds; processor time tells the work from the waiting on a machine that others use too."""

    wall: float
    processor: float


def main() -> dict[str, object]:
    """Seconds of a fresh and of a no-op run, and milliseconds a job beyond an empty Snakemake run."""
    with tempfile.TemporaryDirectory() as folder, Endpoint(lambda prompt: "true") as endpoint:
        project = noop_project(Path(folder) / "project", [model(endpoint.url, in_flight=8)], CELLS)
        jobs = 3 * CELLS
        first = timed(project)
        again = timed(project)
        assert len(endpoint.requests) == CELLS, len(endpoint.requests)
        project.configure(tasks=["tree-size-bytes"], trials=1, study="one")
        single = timed(project)
    wall, processor = ((a - b) / jobs * 1000 for a, b in zip(first, single, strict=True))
    return {
        "cells": CELLS,
        "fresh_run_s": round(first.wall, 2),
        "no_op_rerun_s": round(again.wall, 2),
        "one_cell_run_s": round(single.wall, 2),
        "overhead_ms_per_job": round(wall, 2),
        "overhead_processor_ms_per_job": round(processor, 2),
        "overhead_over_target": round(wall / TARGET_MS_PER_JOB, 2),
    }


def noop_project(root: Path, models: list[dict[str, object]], cells: int) -> Project:
    """A project of so many cells of each model, of tasks that start no processes, since nothing is started."""
    project = Project.make(root, models=models)
    static = [task.id for task in load_tasks() if not task.needs]
    tasks = static[:10] if cells <= 2000 else static[:20]
    project.configure(tasks=tasks, trials=cells // (2 * len(tasks)))
    for part in ("tools", "tests"):
        (project.root / part).symlink_to(ROOT / part)
    return project


def noop_run(project: Project, target: str) -> list[str]:
    """The command line of a run with the sandbox that runs nothing."""
    return project.command("--snakefile", "tools/bench/noop.smk", "--workflow-profile", "profiles/default", target)


def timed(project: Project) -> Times:
    """Seconds of one run of the project with the sandbox that runs nothing."""
    started, before = time.monotonic(), processor_s()
    done = subprocess.run(
        noop_run(project, "all"), cwd=project.root, env=project.environ(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return Times(time.monotonic() - started, processor_s() - before)


def processor_s() -> float:
    """Processor seconds of the runs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(yaml.safe_dump(main()))
