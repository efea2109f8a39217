"""An archive of a named set holds the set's tasks, and its report and registration say which set it is."""

import pytest

from fluency.archive import verify
from fluency.archive.registration import deviations, preregister, read_registration
from fluency.archive.verify import verify_archive
from fluency.core import tasks as bank
from fluency.core.tasks import TaskSet, load_tasks
from tests.archive.factory import Made, archived, make, make_study

TWO = ["crate-versions", "stale-lockfiles"]


@pytest.fixture
def define(monkeypatch):
    """Give the bank one set, `two`, of the tasks named."""

    def define(tasks: list[str]) -> None:
        sets = {"two": TaskSet(description="for a test", tasks=tasks)}
        for module in (bank, verify):
            monkeypatch.setattr(module, "task_sets", lambda *_: sets)

    return define


@pytest.fixture
def made(define, tmp_path) -> Made:
    define(TWO)
    return make(tmp_path / "study", make_study("two", trials=1))


def test_it_verifies_and_says_its_set_and_a_task_left_out_of_the_set_shows(made, define, tmp_path, monkeypatch):
    report = (made.results / "made-up/report.md").read_text()
    assert "The set `two`, 2 tasks:" in report and "of 2 tasks (the set `two`), " in report
    path = archived(made, tmp_path)
    found = verify_archive(path)
    assert (found.problems, found.unproven) == ([], [])
    define([*TWO, "tree-size-bytes"])
    told = "study.json: the archived tasks are not those of the set two"
    assert told in map(str, verify_archive(path).problems)
    monkeypatch.setattr("fluency.archive.verify.code_hashes", dict)
    found = verify_archive(path)
    assert found.problems == [], "by other code it may be another set of the name"
    assert [finding for finding in map(str, found.unproven) if finding.startswith(told)]


def test_the_registration_freezes_the_set(define, tmp_path):
    define(TWO)
    study = make_study("two", decision="which")
    path = preregister(study, load_tasks("two"), "which", tmp_path, utc="2026-11-01T00:00:00Z")
    assert read_registration(path)["task_set"] == "two"
    assert deviations(make_study(TWO, decision="which"), load_tasks(TWO), path) == [], "the same tasks by their ids"
    define(TWO[:1])
    assert deviations(study, load_tasks(TWO), path) == ['task_set: registered "two", now ""']
