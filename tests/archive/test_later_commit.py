"""An archive is verified by the code of a later commit, in a real repository."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fluency.archive.registration import read_registration
from fluency.common.clock import utc_date
from fluency.common.paths import ROOT
from fluency.core import tasks as bank
from fluency.core.tasks import TaskSet
from tests.archive.factory import archived, make_registered, make_study
from tests.archive.hostile import contents

TWO = ["crate-versions", "stale-lockfiles"]
SETS = "tasks/sets.yaml"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{path} does not hold {old}"
    path.write_text(text.replace(old, new, 1))


def define(checkout: Path, tasks: list[str]) -> None:
    sets = yaml.safe_load((ROOT / SETS).read_text())
    sets["two"] = {"description": "for a test", "tasks": tasks}
    (checkout / SETS).write_text(yaml.safe_dump(sets))


@pytest.fixture
def checkout(tmp_path) -> Path:
    """This checkout's files as the first commit of another repository, with a set of two tasks."""
    files = ("scripts", "sandbox", "tasks", "report", "envs", "config")
    folder = tmp_path / "checkout"
    for name in files:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "config.yaml", folder)
    define(folder, TWO)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "The commit of the archive")
    return folder


def verified(checkout: Path, archive: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "fluency.cli", "verify", str(archive)]
    environment = os.environ | {"PYTHONPATH": str(checkout / "scripts")}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_archive_of_earlier_commit_is_proven_by_same_judge(checkout, tmp_path, monkeypatch):
    """Prices, the report, the set and the analysis changed: notes, and no contradiction."""
    two = {"two": TaskSet(description="for a test", tasks=TWO)}
    monkeypatch.setattr(bank, "task_sets", lambda *_: two)
    made = make_registered(tmp_path / "s", make_study("two", trials=1, decision="which"))
    commit = git(checkout, "rev-parse", "HEAD")
    archive = archived(made, tmp_path / "out", commit=commit, utc_date=utc_date())
    assert json.loads(contents(archive)["study.json"])["tasks"] == TWO
    assert read_registration(Path(made.study.preregistration))["task_set"] == "two"
    edit(
        checkout / "scripts/fluency/generation/policies.yaml",
        '0, output_usd_per_mtok: 0, dated: "2026-11-21',
        '0, output_usd_per_mtok: 0, dated: "2026-11-22',
    )
    edit(checkout / "report/report.md.j2", "#", "# Later")
    edit(checkout / "scripts/fluency/analysis/study_analysis.py", '"""', '"""Later. ')
    define(checkout, [*TWO, "tree-size-bytes"])
    git(checkout, "commit", "-qam", "A later commit")
    code, said = verified(checkout, archive)
    assert code == 0 and said.splitlines()[-1] == "PROVEN", said
    assert "code differs from the registered: code.analyse: not as registered" in said
    assert "study, policy and raw message give another price" in said
