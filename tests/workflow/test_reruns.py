"""Real reruns: each change redoes what it must, and asks for nothing twice.

All kinds of change: test_rerun_keys.py.
"""

import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import docker
import pytest

from tests.generation.endpoint import Endpoint
from tests.workflow.project import TASKS, Project, model

pytestmark = pytest.mark.engine
END = {"gather": 1, "report": 1}


def test_new_model_and_trials_ask_new_cells_only(project, flawless):
    project.configure(models=[model(flawless.url), model(flawless.url, "other")])
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.configure(models=[model(flawless.url)], trials=2)
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.snakemake()
    assert len(flawless.requests) == 4


def test_cell_lost_in_three_attempts_is_reported(sandbox, tmp_path):
    with Endpoint(lambda prompt: SLEEP) as endpoint:
        project = Project.make(tmp_path / "project", models=[model(endpoint.url)])
        project.configure(tasks=TASKS[:1], shells=["bash"])
        client = sandbox._engine.client()
        for attempt in (1, 2, 3):
            start = {"cwd": project.root, "env": project.environ(), "text": True}
            with subprocess.Popen(project.command(), stderr=subprocess.PIPE, **start) as run:
                while run.poll() is None and not end_from_outside(client):
                    time.sleep(0.1)
                errors = run.communicate(timeout=120)[1]
            assert run.returncode == (attempt < 3), errors
    (record,) = project.records("executions")
    assert json.loads(record.read_text())["attempts"] == 3 and project.to_do() == {}
    report = (project.root / "results" / "test" / "report.md").read_text()
    assert "abandoned after the 3rd attempt" in report
    started = "its command was started 3 times, and no result came back: "
    assert f"{started}the container was ended from outside" in report


SLEEP = f"sleep 61{os.getpid()}"  # no other's


def end_from_outside(client) -> bool:
    """Kill the container in which the command runs; False if it does not run.

    The engine is not asked which processes a container has: next to a storm of processes in another
    test's container, that takes longer than the command.
    """
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, docker.errors.APIError):
            command = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            if command == SLEEP.encode().split():
                (container, *_) = re.findall("[0-9a-f]{64}", (process / "cgroup").read_text())
                client.kill(container)
                return True
    return False


def test_prompt_changed_and_back_asks_each_request_once(project, flawless, monkeypatch):
    """`make plan` names the jobs and reasons that Snakemake's dry run has."""
    monkeypatch.setattr(flawless, "answer", lambda prompt: "true")
    task = f"tasks/{TASKS[1]}/task.yaml"
    words = ("Print a single integer, digits only.", "Print one.")
    remade = "input files updated by another job"
    jobs = {"generate": {"changed: prompt": 2}, "execute": {remade: 2}, "score": {remade: 2}}
    for pair, calls in ((words, 2), (words[::-1], 0)):
        project.edit(task, *pair)
        plan = {"calls": {"to make": calls}, **jobs, "gather": {remade: 1}, "report": {remade: 1}}
        assert project.plan() == plan
        project.snakemake()
        assert len(flawless.requests) == 2 and project.to_do() == {}
