"""What an archive and a registration hold of a study's configuration and of a set of tasks."""

import json

import pytest

from fluency.archive.registration import preregister, read_registration
from fluency.archive.verify import verify_archive
from fluency.core import tasks as bank
from fluency.core.study import Study, read_study
from fluency.core.tasks import TaskSet, load_tasks
from tests.archive.factory import archived, deviations, make, make_study
from tests.archive.hostile import contents


def test_archived_study_is_a_configuration_file(small_archive, tmp_path):
    """`make run CONFIG=study.json` asks the same questions."""
    (tmp_path / "study.json").write_bytes(contents(small_archive)["study.json"])
    study = read_study(tmp_path / "study.json")
    assert study == Study.model_validate_json(contents(small_archive)["study.json"])


TWO = ["crate-versions", "stale-lockfiles"]


@pytest.fixture
def define(monkeypatch):
    """Give the bank one set, `two`, of the tasks named."""

    def define(tasks: list[str]) -> None:
        sets = {"two": TaskSet(description="for a test", tasks=tasks)}
        monkeypatch.setattr(bank, "task_sets", lambda *_: sets)

    return define


def test_archive_of_set_names_its_tasks(define, tmp_path):
    define(TWO)
    made = make(tmp_path / "study", make_study("two", trials=1))
    report = (made.results / "made-up/report.md").read_text()
    assert "The set `two`, 2 tasks:" in report and "of 2 tasks (the set `two`), " in report
    path = archived(made, tmp_path)
    assert json.loads(contents(path)["study.json"])["tasks"] == TWO
    define([*TWO, "tree-size-bytes"])
    assert verify_archive(path).exit_code == 0


def test_the_registration_freezes_the_set(define, tmp_path):
    define(TWO)
    study = make_study("two", decision="which")
    path = preregister(study, load_tasks("two"), "which", tmp_path, utc="2026-11-01T00:00:00Z")
    assert read_registration(path)["task_set"] == "two"
    assert deviations(make_study(TWO, decision="which"), load_tasks(TWO), path) == [], (
        "the same tasks by their ids"
    )
    define(TWO[:1])
    assert deviations(study, load_tasks(TWO), path) == ['task_set: registered "two", now ""']
