"""An archive holds the files its study was read from, in the order in which they were merged."""

import json
from dataclasses import replace

import pytest

from fluency.archive.registration import deviations, preregister, read_registration
from fluency.archive.verify import verify_archive
from fluency.common.errors import UserError
from fluency.common.paths import CONFIG
from fluency.core import tasks as bank
from fluency.core.study import Study, read_study
from fluency.core.tasks import TaskSet, load_tasks
from tests.archive.factory import Made, archived, make, make_study
from tests.archive.hostile import contents


def test_the_study_follows_from_the_archived_files_in_their_order(small, tmp_path):
    base, first = small.config()
    second = tmp_path / "a-second.yaml"
    second.write_text("order_seed: 5\n")
    later = replace(small, study=small.study.model_copy(update={"order_seed": 5}))
    files = contents(archived(later, tmp_path / "out", config=[base, first, second], partial=True))
    names = json.loads(files["MANIFEST.json"])["config"]
    assert names == ["config.yaml", "config/made-up.yaml", "config/a-second.yaml"]
    assert files["config.yaml"] == CONFIG.read_bytes()
    for name in names[1:]:
        (tmp_path / name.removeprefix("config/")).write_bytes(files[name])
    study = read_study(*(tmp_path / name.removeprefix("config/") for name in names[1:]))
    assert study == Study.model_validate_json(files["study.json"])


def test_who_was_asked_before_it_is_no_part_of_a_study(small, tmp_path):
    agreed = replace(small, study=small.study.model_copy(update={"confirm": "yes"}))
    assert verify_archive(archived(agreed, tmp_path)).altered == []


@pytest.mark.parametrize(
    ("names", "update", "says"),
    [
        (["config.yaml"], {}, "two configuration files have the same name"),
        (["a/x.yaml", "b/x.yaml"], {}, "two configuration files have the same name"),
        (["x.yaml"], {"trials": 9}, "the study's `trials` is not that of its configuration files"),
    ],
)
def test_files_that_do_not_make_the_study_are_refused(names, update, says, small, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(small.config()[1].read_bytes())
    other = replace(small, study=small.study.model_copy(update=update))
    with pytest.raises(UserError, match=says):
        archived(other, tmp_path / "out", config=[CONFIG, *(tmp_path / name for name in names)])


TWO = ["crate-versions", "stale-lockfiles"]


@pytest.fixture
def define(monkeypatch):
    """Give the bank one set, `two`, of the tasks named."""

    def define(tasks: list[str]) -> None:
        sets = {"two": TaskSet(description="for a test", tasks=tasks)}
        monkeypatch.setattr(bank, "task_sets", lambda *_: sets)

    return define


@pytest.fixture
def of_set(define, tmp_path) -> Made:
    define(TWO)
    return make(tmp_path / "study", make_study("two", trials=1))


def test_it_verifies_and_says_its_set_and_a_task_left_out_of_the_set_shows(
    of_set, define, tmp_path
):
    report = (of_set.results / "made-up/report.md").read_text()
    assert "The set `two`, 2 tasks:" in report and "of 2 tasks (the set `two`), " in report
    path = archived(of_set, tmp_path)
    found = verify_archive(path)
    assert found.exit_code == 0
    define([*TWO, "tree-size-bytes"])
    found = verify_archive(path)
    assert "its 2 tasks are not this checkout's `two` (3)" in str(found.unchecked)


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
