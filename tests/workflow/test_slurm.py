"""A study on a cluster: a Slurm of two nodes on this machine, real slices, a node that dies, a node without an engine."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from fluency.common.paths import ROOT
from tests.generation.endpoint import Endpoint
from tests.waiting import wait_for
from tests.workflow import slurm
from tests.workflow.project import Project, model, reference_answer

pytestmark = pytest.mark.engine
KEY = "sk-ant-a-key-that-stays-here"
TASKS = ["session-tool-failures", "tree-size-bytes"]
OF_A_MACHINE = ("t_", "cpu_s", "peak_", "asked_utc", "attempts")
"""Columns of the table that tell times, and what a machine used."""


@pytest.fixture(scope="module")
def plugins() -> None:
    """Snakemake's executors for clusters, in this environment."""
    made = subprocess.run(["make", "-s", ".venv/.cluster"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def cluster(sandbox, tmp_path_factory) -> Iterator[slurm.Cluster]:
    """Two idle nodes."""
    if why := slurm.why_not():
        pytest.skip(why)
    made = slurm.Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def slow_first(prompt: str) -> str:
    """The reference, but late enough that a node can die meanwhile."""
    return reference_answer(prompt) if "PowerShell" in prompt else f"sleep 1; {reference_answer(prompt)}"


@pytest.fixture(scope="module")
def small(sandbox, tmp_path_factory) -> Iterator[Project]:
    """A study of eight cells in two slices, finished on this machine."""
    with Endpoint(slow_first) as endpoint:
        project = Project.make(tmp_path_factory.mktemp("small") / "project", models=[model(endpoint.url)])
        project.configure(trials=2)
        project.snakemake()
        for old, new in [("slice: 8", "slice: 1"), ("checks: 10", "checks: 2"), ("mem_mb: 8000", "mem_mb: 500")]:
            project.edit("profiles/slurm/profile.yaml", old, new)
        project.edit("scripts/fluency/workflow/slices.py", "CELLS_A_PROCESSOR = 80", "CELLS_A_PROCESSOR = 4")
        yield project


def on_slurm(project: Project, cluster: slurm.Cluster, **environ: str) -> subprocess.Popen[str]:
    command = [project.command()[0], "-m", "fluency.cli", "run", "--configfile", "config/test.yaml", "--on", "slurm"]
    environ = project.environ(ANTHROPIC_API_KEY=KEY, **cluster.environ, **environ)
    return subprocess.Popen(
        command, cwd=project.root, env=environ, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def measured(project: Project) -> list[dict[str, str]]:
    """The rows of the table but for times and the machine."""
    with (project.root / "results" / "test" / "cells.csv").open() as file:
        return [
            {name: text for name, text in row.items() if not name.startswith(OF_A_MACHINE)}
            for row in csv.DictReader(file)
        ]


def test_a_node_that_dies_costs_nothing_but_time(plugins, cluster, small, tmp_path):
    project = small.clone(tmp_path / "project")
    for stage in ("executions", "scores", "test"):
        shutil.rmtree(project.root / "results" / stage)
    with on_slurm(project, cluster) as run:
        wait_for(lambda: project.records("executions") and cluster.processes_on("n1"), 120)
        seen = [environ for node in slurm.NODES for environ in cluster.processes_on(node).values()]
        cluster.kill_node("n1")
        _out, errors = run.communicate(timeout=300)
    cluster.revive_node("n1")
    assert run.returncode == 0, errors
    assert not any(KEY.encode() in environ for environ in seen)
    assert measured(project) == measured(small)
    assert project.to_do() == {}
    done = [json.loads(path.read_text()) for path in (project.root / ".cache" / "slices").glob("*.done")]
    assert sum(part["cells"] for part in done) == 8


def test_a_node_without_an_engine_is_named_with_the_reason(plugins, cluster, small, tmp_path):
    project = small.clone(tmp_path / "project")
    shutil.rmtree(project.root / "results" / "scores")
    with on_slurm(project, cluster, DOCKER_HOST="unix:///nowhere/docker.sock") as run:
        errors = run.communicate(timeout=300)[1]
    assert run.returncode == 1
    assert "node n" in errors and "no engine answers there" in errors
