"""How often Snakemake looks for jobs: once for each thing that happens, however long a run waits for answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bench.workflow import noop_project, noop_run
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
