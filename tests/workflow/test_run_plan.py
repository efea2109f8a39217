"""Our own reasons for jobs, held against real dry runs of Snakemake, and their words."""

import base64
import os
import re
import shutil

import pytest

from tests.generation.endpoint import Endpoint
from tests.workflow.noop import noop_project, noop_run
from tests.workflow.project import FLUENCY, Project, model

TASK = "tree-size-bytes"
NO_ENGINE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
PROMPT = ("Print a single integer, digits only.", "Print one integer.")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A finished study of four cells whose sandbox runs nothing."""
    with Endpoint(lambda prompt: "true") as endpoint:
        folder = tmp_path_factory.mktemp("plan") / "project"
        project = noop_project(folder, [model(endpoint.url, in_flight=8)], 20)
        project.configure(tasks=[TASK], trials=2)
        project.run(noop_run(project, "all"), 0, {})
        yield project


def damage(project: Project):
    """Every file touched, a score deleted, and a score's job killed."""
    for path in project.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    score, killed = project.records("scores")[:2]
    score.unlink()
    record = base64.b64encode(killed.relative_to(project.root).as_posix().encode()).decode()
    (project.root / ".snakemake/incomplete" / record).write_text('{"external_jobid": null}')


def lose_records(project: Project):
    """Nothing says any more by which checks, limits and code the results were made."""
    shutil.rmtree(project.root / ".snakemake")
    project.edit(f"tasks/{TASK}/task.yaml", *PROMPT)


def change_check_and_trials(project: Project):
    project.edit(f"tasks/{TASK}/task.yaml", "lines: exactly-one", "lines: at-least-one")
    project.configure(trials=3)


REMADE, NEW = "input files updated by another job", "missing output files"
UNFINISHED = "left unfinished, or no record of how it was made"
HEAD = {"gather": {REMADE: 1}, "report": {REMADE: 1}}
CHANGES = {
    "prompt": (
        lambda project: project.edit(f"tasks/{TASK}/task.yaml", *PROMPT),
        {"generate": {"changed: prompt": 4}, "execute": {REMADE: 4}, "score": {REMADE: 4}, **HEAD},
    ),
    "check and trials": (
        change_check_and_trials,
        {
            "generate": {NEW: 2},
            "execute": {NEW: 2},
            "score": {NEW: 2, "changed: check": 4},
            **HEAD,
        },
    ),
    "files touched, a score deleted, a job killed": (
        damage,
        {"score": {NEW: 1, UNFINISHED: 1}, **HEAD},
    ),
    "figures lost": (
        lambda project: shutil.rmtree(project.root / "results/test/figures"),
        {"report": {NEW: 1}},
    ),
    "Snakemake's records lost, prompt": (
        lose_records,
        {
            "image": {UNFINISHED: 2},
            "generate": {UNFINISHED: 4},
            "execute": {REMADE: 4},
            "score": {REMADE: 4},
            **HEAD,
        },
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_plan_names_jobs_and_reasons(measured, tmp_path, change):
    project = measured.clone(tmp_path / "project")
    change_it, expected = CHANGES[change]
    change_it(project)
    plan = project.plan()
    del plan["calls"]
    assert plan == expected


def test_a_users_profile_keeps_no_result_of_other_worlds(measured, tmp_path):
    """Snakemake's own reason names the ingredient, and is short."""
    project = measured.clone(tmp_path / "project")
    project.configure(seeds=[13, 26])
    profile = tmp_path / "profile.yaml"
    profile.write_text("executor: slurm\nrerun-triggers: [mtime]\n")
    said = project.snakemake("-n", SNAKEMAKE_PROFILE=str(profile)).stdout
    reasons = [line for line in said.splitlines() if "reason: Params" in line]
    assert len(reasons) == 4 and all(len(line) < 250 for line in reasons)
    assert all("before: 'worlds:" in line and "now: 'worlds:" in line for line in reasons)


def test_the_plan_names_a_missing_engine(measured):
    missing = measured.fluency("plan", **NO_ENGINE).stdout.split("Missing:")[1]
    assert "a container engine (DOCKER_HOST=unix:///nowhere/docker.sock" in missing
    assert "unset it" in missing


def test_nobody_is_asked_while_no_engine_could_run_the_answers(measured, tmp_path):
    project = measured.clone(tmp_path / "project")
    with Endpoint(lambda prompt: "true") as endpoint:
        project.configure(models=[model(endpoint.url, "other")])
        done = project.fluency("run", code=2, **NO_ENGINE)
        hint = re.search(r"`fluency (run .*)`", done.stderr)[1]
        assert "container engine" in done.stderr
        assert endpoint.requests == []
        project.run([*FLUENCY, *hint.split()], 0, NO_ENGINE)
        assert len(endpoint.requests) == 4


def test_report_of_an_unfinished_study_asks_nothing(measured, tmp_path):
    project = measured.clone(tmp_path / "project")
    with Endpoint(lambda prompt: "true") as endpoint:
        project.configure(models=[model(endpoint.url, "other")])
        said = project.snakemake("--", "report", code=2).stderr
        assert endpoint.requests == []
    (file,) = re.findall(r"test: the study is unfinished\nHint: `make report CONFIG=(\S+)`", said)
    shown = project.run([*FLUENCY, "report", "--configfile", file], 0, {}).stdout
    assert "0 of 4 runs measured" in shown


def test_the_last_step_of_a_run_on_a_cluster_starts_no_engine(measured, tmp_path):
    """What the nodes have measured is only gathered and reported here."""
    project = measured.clone(tmp_path / "project")
    shutil.rmtree(project.root / "results/test")
    project.fluency("run", "--on", "slurm", **NO_ENGINE)
    assert (project.root / "results/test/report.md").exists()
