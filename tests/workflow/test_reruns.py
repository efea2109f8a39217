"""Reruns with real Snakemake: each change redoes what it must, and asks for nothing twice. All rows: test_rerun_keys."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import docker
import pytest
import zstandard

from fluency.execution import container
from tests.generation.endpoint import Endpoint
from tests.waiting import wait_for
from tests.workflow.project import TASKS, Project, model, reference_answer

pytestmark = pytest.mark.engine
END = {"gather": 1, "report": 1}


def test_a_new_model_and_more_trials_ask_only_the_new_cells(project, flawless):
    project.configure(models=[model(flawless.url), model(flawless.url, "other")])
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.configure(models=[model(flawless.url)], trials=2)
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.snakemake()
    assert len(flawless.requests) == 4


def test_a_new_image_whose_description_is_lost_executes_again(project):
    project.edit("sandbox/runner.py", "\n", "\n# another thought\n")
    project.snakemake("--touch", "--", "results/image.json")  # as if it had been built
    (project.root / "results" / "image.json").unlink()
    assert project.to_do() == {"image": 1, "execute": 4, "score": 4, **END}


def test_deleted_results_and_memory_cost_no_second_question(project, flawless):
    shutil.rmtree(project.root / "results")
    shutil.rmtree(project.root / ".snakemake")
    project.snakemake()
    assert flawless.requests == [] and len(project.records("scores")) == 4


def test_a_run_killed_at_any_moment_is_finished_by_the_next_and_asks_nothing_twice(
    sandbox, tmp_path
):
    """SIGKILL while generations, then while executions are under way; no lock is left to take away."""
    with Endpoint(reference_answer, delay_s=0.3) as endpoint:
        project = Project.make(tmp_path / "project", models=[model(endpoint.url, in_flight=1)])
        kill_when(project, "generations", 2)
        kill_when(project, "executions", 1)
        project.fluency("run")
        prompts = [seen.prompt for seen in endpoint.requests]
    assert len(project.records("scores")) == 4
    stored = list((project.root / "answers").rglob("*.json"))
    assert len(stored) == 4
    # A request under way at the kill may be asked again, since no answer of it arrived: one a kill at most.
    assert len(prompts) <= 4 + 2 and project.to_do() == {}


def kill_when(project: Project, stage: str, enough: int) -> None:
    """Start a run and SIGKILL its whole group as soon as it has made `enough` records of a stage."""
    before = len(project.records(stage))
    quiet = {"start_new_session": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(project.command(), cwd=project.root, env=project.environ(), **quiet)
    wait_for(lambda: len(project.records(stage)) >= before + enough, 120)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_cell_that_three_attempts_could_not_measure_is_reported_and_left_alone(sandbox, tmp_path):
    with Endpoint(lambda prompt: SLEEP) as endpoint:
        project = Project.make(tmp_path / "project", models=[model(endpoint.url)])
        project.configure(tasks=TASKS[:1], shells=["bash"])
        for attempt in (1, 2, 3):
            start = {
                "cwd": project.root,
                "env": project.environ(),
                "stderr": subprocess.PIPE,
                "text": True,
            }
            with subprocess.Popen(project.command(), **start) as run:
                wait_for(lambda: end_from_outside(sandbox._engine.client()), 120)
                errors = run.communicate(timeout=120)[1]
            assert run.returncode == (attempt < 3), errors
    (record,) = project.records("executions")
    assert json.loads(record.read_text())["attempts"] == 3 and project.to_do() == {}
    report = (project.root / "results" / "test" / "report.md").read_text()
    assert "abandoned after the 3rd attempt" in report
    assert "its command was started 3 times, and no result came back: somebody outside" in report


SLEEP = f"sleep 61{os.getpid()}"  # no other's


def end_from_outside(client) -> bool:
    """Kill a container in which the command runs; False if there is none."""
    for found in client.containers(filters={"label": container.LABEL}):
        with contextlib.suppress(docker.errors.APIError):
            if any(
                SLEEP in " ".join(process) for process in client.top(found["Id"])["Processes"] or []
            ):
                client.kill(found["Id"])
                return True
    return False


ANEW = "what it is made from is made again"
NEW = "not there yet"
UNKNOWN = "no record of how it was made"


def redone(project: Project, requests: list, calls: int = 0, **reasons: dict[str, int]) -> None:
    """`make plan` names these jobs with these reasons; a run does them and no others, and makes so many requests."""
    assert project.plan() == {"calls": {"to make": calls}, **reasons}
    before = len(requests)
    jobs = {rule: sum(told.values()) for rule, told in reasons.items()}
    assert project.run_and_tell() == jobs and len(requests) - before == calls


@pytest.fixture(scope="module")
def archive(finished) -> Path:
    packed = finished.fluency("archive", "--partial")
    return finished.root / packed.stdout.split()[-1]


def restore(project: Project, archive: Path) -> None:
    """Make a fresh clone of a project, unpack the archive's results and answers into it."""
    for name in ("results", "answers", ".snakemake", ".cache"):
        shutil.rmtree(project.root / name, ignore_errors=True)
    with zstandard.open(archive, "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        wanted = (entry for entry in tar if entry.name.startswith(("results/", "answers/")))
        tar.extractall(project.root, members=wanted)


def test_results_from_an_archive_are_taken_with_snakemakes_memory_and_made_anew_without(
    project, archive, finished, flawless
):
    restore(project, archive)
    shutil.copytree(finished.root / ".snakemake", project.root / ".snakemake", symlinks=True)
    assert project.to_do() == {}
    shutil.rmtree(project.root / ".snakemake")
    # Nobody knows any more by which checks, limits and code they were made; the answers say themselves what was asked.
    reasons = {"image": {UNKNOWN: 1}, "execute": {ANEW: 4}, "score": {ANEW: 4}}
    redone(project, flawless.requests, **reasons, gather={ANEW: 1}, report={ANEW: 1})
    assert project.to_do() == {}


def test_an_answer_to_another_prompt_from_an_archive_is_not_taken(project, archive):
    restore(project, archive)
    project.edit(
        f"tasks/{TASKS[1]}/task.yaml", "Print a single integer, digits only.", "Print one integer."
    )
    plan = project.plan()
    assert (plan["calls"], plan["generate"]) == ({"to make": 2}, {UNKNOWN: 2})


def test_a_renamed_alias_makes_its_cells_anew_and_asks_nothing(project, flawless):
    project.configure(models=[model(flawless.url, "renamed", id="fake-good")])
    reasons = {"generate": {NEW: 4}, "execute": {ANEW: 4}, "score": {ANEW: 4}}
    redone(project, flawless.requests, **reasons, gather={ANEW: 1}, report={ANEW: 1})


def test_two_branches_with_different_tasks_ask_once_each(project, flawless, monkeypatch):
    monkeypatch.setattr(flawless, "answer", lambda prompt: "true")

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@nowhere.example")
        subprocess.run(
            ["git", *identity, *arguments], cwd=project.root, check=True, capture_output=True
        )

    (project.root / ".gitignore").write_text("results/\nanswers/\nlogs/\n.snakemake/\n.cache/\n")
    git("init", "-q", "-b", "one")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "two")
    project.edit(
        f"tasks/{TASKS[1]}/task.yaml", "Print a single integer, digits only.", "Print one integer."
    )
    git("commit", "-qam", "two")
    prompt = {"generate": {"changed: prompt": 2}, "execute": {ANEW: 2}, "score": {ANEW: 2}}
    rest = {"gather": {ANEW: 1}, "report": {ANEW: 1}}
    redone(project, flawless.requests, calls=2, **prompt, **rest)
    git("checkout", "-q", "one")
    redone(project, flawless.requests, **prompt, **rest)
