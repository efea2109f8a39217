"""A study on a Slurm of two nodes on this machine, which die or lack something."""

import csv
import json
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import docker.errors
import pytest

from fluency.core.study import Cell
from fluency.workflow.cluster import EXECUTORS, write_slices
from tests.generation.endpoint import Endpoint
from tests.programs import completed
from tests.waiting import wait_for
from tests.workflow import slurm
from tests.workflow.project import TASKS, Project, model, reference_answer

pytestmark = pytest.mark.engine
FOUR = [*TASKS, "log-errors-by-hour", "stale-lockfiles"]
KEY = "sk-ant-a-key-that-stays-here"
OF_A_MACHINE = ("t_", "cpu_s", "peak_", "written_", "asked_utc", "attempts")
"""Columns with times, and with what a machine used (PowerShell caches in HOME)."""
WAITS, QUICK = (f"slurm-init-seconds-before-status-checks: {seconds}" for seconds in (10, 2))
LOOKS_OFTEN = """
from snakemake_executor_plugin_slurm import Executor
Executor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, seconds: None)
"""
"""The executor itself asks 10 s later each time."""


@pytest.fixture(scope="module")
def plugins():
    """Snakemake's executors for clusters, next to this environment."""
    completed("make", "-s", ".venv/.cluster")


@pytest.fixture(scope="module")
def cluster(sandbox, tmp_path_factory):
    if why := slurm.why_not():
        pytest.skip(why)
    made = slurm.Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def slow(prompt):
    """The reference, but late enough for a node to die before it."""
    return f"sleep 1; {reference_answer(prompt)}"


@pytest.fixture(scope="module")
def small(sandbox, tmp_path_factory):
    """A study of four conversations in two slices a turn, finished on this machine.

    In one shell, because a node would build and keep PowerShell's image for most of the time.
    """
    with Endpoint(slow, new_each_turn=True) as endpoint:
        folder = tmp_path_factory.mktemp("small") / "project"
        project = Project.make(folder, models=[model(endpoint.url)], turns=2)
        project.configure(tasks=FOUR, shells=["bash"])
        project.snakemake()
        for old, new in [("slice: 8", "slice: 1"), ("mem_mb: 8000", "mem_mb: 500"), (WAITS, QUICK)]:
            project.edit("profiles/slurm/profile.yaml", old, new)
        with (project.root / "profiles/cluster.smk").open("a") as file:
            file.write(LOOKS_OFTEN)
        few = ("CELLS_A_PROCESSOR = 80", "CELLS_A_PROCESSOR = 2")
        project.edit("scripts/fluency/workflow/cluster.py", *few)
        yield project


def on_slurm(project: Project, cluster: slurm.Cluster, **environ):
    environ = project.environ(ANTHROPIC_API_KEY=KEY, **cluster.environ, **environ)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = project.run_command("--on", "slurm")
    return subprocess.Popen(command, cwd=project.root, env=environ, **pipes)


def measured(project: Project):
    """The rows of the table without times and the machine."""
    table = project.root / "results/test/cells.csv"
    rows = csv.DictReader(table.read_text().splitlines())
    return [{k: v for k, v in row.items() if not k.startswith(OF_A_MACHINE)} for row in rows]


def in_the_middle(project: Project):
    """A slice of which some scores are there, and not all."""
    for part in (project.root / ".cache/slices").glob("*.txt"):
        scores = [project.root / name for name in part.read_text().split()]
        if 0 < sum(path.exists() for path in scores) < len(scores):
            return part
    return None


def node_of(cluster: slurm.Cluster, part):
    """The node that works on a slice."""
    for node in slurm.NODES:
        for process in cluster.processes_on(node):
            with suppress(OSError):
                if f"{part.name}.lock".encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                    return node
    return ""


def test_nodes_take_the_image_from_the_shared_folder_and_one_that_dies_costs_nothing_but_time(
    plugins, cluster, small, engine, tmp_path
):
    project, client = small.clone(tmp_path / "project"), engine.client()
    project.edit("sandbox/finish.sh", "\n", f"\n# {tmp_path}: the content of no other image\n")
    (project.root / ".cache/images").mkdir(parents=True)
    image = project.root / "results/images/bash.json"
    project.snakemake("--", "results/images/bash.json")
    kept = json.loads(image.read_text())["image"]["image_id"]
    # With its layers, so that another build would have another id.
    client.remove_image(kept, force=True)
    image.unlink()
    for stage in ("executions", "scores", "test"):
        shutil.rmtree(project.root / "results" / stage)
    try:
        with on_slurm(project, cluster) as run:
            lost = wait_for(lambda: in_the_middle(project), 240)
            jobs = [job for node in slurm.NODES for job in cluster.processes_on(node).values()]
            node = node_of(cluster, lost)
            cluster.kill_node(node)
            errors = run.communicate(timeout=600)[1]
        cluster.revive_node(node)
        assert run.returncode == 0, errors
        assert errors.count("on the nodes: 2 slices") == 2, "a turn after the other"
        assert json.loads(image.read_text())["image"]["image_id"] == kept
        assert jobs and not any(KEY.encode() in environ for environ in jobs)
        assert measured(project) == measured(small) and project.to_do() == {}
        assert lost.with_suffix(".done").exists()
        project.configure(seeds=[13, 26])  # what the nodes noted is what a run here compares with
        twice = dict.fromkeys(("execute", "score"), 8)
        assert project.to_do() == {"generate": 4, **twice, "gather": 1, "report": 1}
    finally:
        with suppress(docker.errors.ImageNotFound):
            client.remove_image(kept, force=True)


def test_a_node_without_an_engine_or_an_image_is_named_with_the_reason(
    plugins, cluster, small, tmp_path
):
    """Two studies at the same time: both fail, and wait for the cluster most of their time.

    Of earlier logs only the study's own are removed.
    """
    no_engine, no_image = small.clone(tmp_path / "no-engine"), small.clone(tmp_path / "no-image")
    for project in (no_engine, no_image):
        shutil.rmtree(project.root / "results/scores")
    earlier = [no_engine.root / "logs" / study / "executions/m.log" for study in ("test", "other")]
    for log in earlier:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("an earlier failure")
    no_image.edit("sandbox/helper.c", "#include", "#error this node compiles nothing\n#include")
    with (
        on_slurm(no_engine, cluster, DOCKER_HOST="unix:///nowhere/docker.sock") as one,
        on_slurm(no_image, cluster) as other,
    ):
        errors, build_errors = one.communicate(timeout=600)[1], other.communicate(timeout=600)[1]
    assert (one.returncode, other.returncode) == (1, 1)
    why = r"node n[12]: DOCKER_HOST=unix:///nowhere/docker.sock: no engine answers there"
    assert re.search(why, errors), errors
    assert [log.exists() for log in earlier] == [False, True]
    assert "an earlier failure" not in errors
    assert re.search(r"node n[12]: sandbox image: the build failed", build_errors), build_errors
    hint = r"Hint: the last lines of the build: [^|]* error: #error this node .* \|"
    assert re.search(hint, build_errors), build_errors
    assert not list((no_image.root / "results").glob("scores/**/*.json"))


def test_the_profile_for_kubernetes_plans_the_same_jobs(plugins, small, tmp_path, monkeypatch):
    project = small.clone(tmp_path / "project")
    shutil.rmtree(project.root / "results/scores")
    project.edit("profiles/kubernetes/profile.yaml", "prefix: /fluency", f"prefix: {project.root}")
    cells = [Cell("good", "bash", task, 1) for task in TASKS]
    monkeypatch.setattr("fluency.workflow.cluster.FOLDER", project.root / ".cache/slices")
    write_slices(cells, 8)
    options = "--workflow-profile profiles/kubernetes --snakefile profiles/cluster.smk --cores 8"
    paths = f"{EXECUTORS}:{project.root / 'scripts'}"
    planned = project.snakemake("-n", *options.split(), PYTHONPATH=paths).stdout
    assert re.search(r"rule slice:(.|\n)*threads: 8", planned)
    assert re.search(r"^slice +1$", planned, re.M)
