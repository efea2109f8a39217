"""An archive is verified by the code of a later commit, in a real repository."""

import json
from pathlib import Path

import pytest
import yaml

from fluency.common.clock import utc_date
from fluency.common.paths import ROOT
from fluency.core import tasks as bank
from fluency.core.tasks import TaskSet
from fluency.registration import read_registration
from tests.archive.conftest import run_git
from tests.archive.factory import archived, make_registered, make_study
from tests.archive.hostile import contents
from tests.workflow.project import Project

TWO = ["crate-versions", "stale-lockfiles"]
SETS = "tasks/sets.yaml"


def define(checkout: Project, tasks):
    sets = yaml.safe_load((ROOT / SETS).read_text())
    sets["two"] = {"description": "for a test", "tasks": tasks}
    (checkout.root / SETS).write_text(yaml.safe_dump(sets))


@pytest.fixture
def checkout(tmp_path):
    """This checkout's files as the first commit of another repository, with a set of two tasks."""
    project = Project.make(tmp_path / "checkout")
    define(project, TWO)
    run_git(project.root, "init", "-q")
    run_git(project.root, "add", "-A")
    run_git(project.root, "commit", "-qm", "The commit of the archive")
    return project


def test_archive_of_earlier_commit_is_proven_by_same_judge(checkout, tmp_path, monkeypatch):
    """Prices, the report, the set and the analysis changed, which no stored number depends on."""
    two = {"two": TaskSet(description="for a test", tasks=TWO)}
    monkeypatch.setattr(bank, "task_sets", lambda *_: two)
    made = make_registered(tmp_path / "s", make_study("two", trials=1, decision="which"))
    commit = run_git(checkout.root, "rev-parse", "HEAD")
    archive = archived(made, tmp_path / "out", commit=commit, utc_date=utc_date())
    assert json.loads(contents(archive)["study.json"])["tasks"] == TWO
    assert read_registration(Path(made.study.preregistration))["task_set"] == "two"
    checkout.edit(
        "scripts/fluency/generation/policies.yaml",
        '0, output_usd_per_mtok: 0, dated: "2026-11-21',
        '0, output_usd_per_mtok: 0, dated: "2026-11-22',
    )
    checkout.edit("report/report.md.j2", "#", "# Later")
    checkout.edit("scripts/fluency/analysis/study_analysis.py", '"""', '"""Later. ')
    define(checkout, [*TWO, "tree-size-bytes"])
    run_git(checkout.root, "commit", "-qam", "A later commit")
    said = checkout.fluency("verify", str(archive)).stdout
    assert "\nPROVEN\n" in said, said
