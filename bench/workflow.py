"""What the workflow itself costs: a no-op rerun of 400 cells, and 400 cells with an instant model and no sandbox."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import yaml

from fluency.paths import ROOT
from fluency.tasks import load_tasks
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model

CELLS = 400
TARGET_MS_PER_JOB = 20


def main() -> dict[str, object]:
    """Seconds of a fresh and of a no-op run, and milliseconds a job beyond an empty Snakemake run."""
    with tempfile.TemporaryDirectory() as folder, Endpoint(lambda prompt: "true") as endpoint:
        project = Project.make(Path(folder) / "project", models=[model(endpoint.url, in_flight=8)])
        static = [task.id for task in load_tasks() if not task.needs]  # nothing is started, so no processes either
        project.configure(tasks=static[:10], trials=20)
        for part in ("bench", "tests"):
            (project.root / part).symlink_to(ROOT / part)
        jobs = 3 * CELLS
        first = timed(project)
        again = timed(project)
        assert len(endpoint.requests) == CELLS, len(endpoint.requests)
        project.configure(tasks=["tree-size-bytes"], trials=1, study="one")
        single = timed(project)
    per_job = (first - single) / jobs * 1000
    return {
        "cells": CELLS,
        "fresh_run_s": round(first, 2),
        "no_op_rerun_s": round(again, 2),
        "one_cell_run_s": round(single, 2),
        "overhead_ms_per_job": round(per_job, 2),
        "overhead_over_target": round(per_job / TARGET_MS_PER_JOB, 2),
    }


def timed(project: Project) -> float:
    """Wall seconds of one run of the project with the sandbox that runs nothing."""
    started = time.monotonic()
    command = project.command("--snakefile", "bench/noop.smk", "--workflow-profile", "profiles/default", "all")
    done = subprocess.run(command, cwd=project.root, env=project.environ(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - started


if __name__ == "__main__":
    print(yaml.safe_dump(main()))
