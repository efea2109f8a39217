"""A frozen design shows its edits, and a study every way in which it is not the registered one."""

from __future__ import annotations

import json

import pytest

from fluency.analysis.analysis_plan import plan_for
from fluency.archive.registration import deviations, preregister
from fluency.archive.registration_file import SCHEMA_VERSION, read_registration
from fluency.common.errors import UserError
from fluency.common.files import pretty_json
from fluency.common.self_hash import has_valid_self_hash, with_self_hash
from fluency.core.shells import DESIGN
from fluency.core.study import Study
from fluency.core.tasks import load_task, load_tasks
from fluency.world import build_world
from tests.archive.factory import make_study

TASKS = ("fetch-top-crates", "stale-lockfiles")


@pytest.fixture
def study() -> Study:
    return make_study(TASKS)


@pytest.fixture
def tasks(study):
    return load_tasks(study.tasks)


@pytest.fixture
def path(study, tasks, tmp_path):
    return preregister(study, tasks, "which shell prompts name", tmp_path / "pre", utc_date="2026-11-22")


def test_a_registration_freezes_what_a_result_depends_on(path, tasks):
    assert path.name == "made-up-2026-11-22.json"
    frozen = read_registration(path)
    assert frozen["decision"] == "which shell prompts name" and frozen["trials"] == 2 and frozen["seeds"] == [11, 24]
    assert frozen["tasks"]["stale-lockfiles"]["sha256"] == tasks[1].sha256
    assert frozen["tasks"]["stale-lockfiles"]["worlds"]["11"] == build_world(11).sha256
    assert frozen["models"]["qwen-0.5b"]["temperature_sent"] == 0.7
    assert frozen["analysis"]["plan"]["bands"] == plan_for(DESIGN)["bands"] and frozen["exclusions"]
    assert has_valid_self_hash(frozen) and has_valid_self_hash(with_self_hash(frozen))


def test_the_same_study_deviates_in_nothing(study, tasks, path):
    assert deviations(study, tasks, path) == []
    harmless = study.model_copy(update={"confirm": "yes", "preregistration": str(path)})
    assert deviations(harmless, tasks, path) == []


def changed(study: Study, /, **values) -> Study:
    return Study.model_validate(study.model_dump() | values)


CHANGES = {
    "trials": ({"trials": 5}, "trials: registered 2, now 5"),
    "seeds": ({"seeds": [13, 24]}, "seeds of the worlds: registered 11, 24, now 13, 24"),
    "shells": ({"shells": ["pwsh"]}, "shells: registered bash, pwsh, now pwsh"),
    "conditions": ({"conditions": ["as_designed"]}, "conditions: registered as_designed, no_unix_tools, now as_designed"),
    "order": ({"order_seed": 1}, "seed of the order of asking: registered 20260430, now 1"),
    "limits": ({"sandbox": {"limits": {"memory_mb": 512}}}, "limits of an execution changed"),
    "name": ({"study": "other"}, "registered for the study made-up"),
    "decision": ({"decision": "something else"}, "registered for another decision: which shell prompts name"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_each_deviation_is_one_sentence(change, study, tasks, path):
    values, told = CHANGES[change]
    assert told in deviations(changed(study, **values), tasks, path)


def test_models_and_tasks_are_compared_by_name(study, tasks, path):
    model = study.models[0].model_dump()
    hotter = changed(study, models=[model | {"temperature": 1.0, "max_tokens": 99}])
    assert deviations(hotter, tasks, path) == [
        "model qwen-0.5b: temperature requested, temperature sent, max_tokens changed"
    ]
    renamed = changed(study, models=[model | {"alias": "other"}])
    assert deviations(renamed, tasks, path) == [
        "model qwen-0.5b: registered, not in the study",
        "model other: in the study, not registered",
    ]
    assert deviations(study, tasks[:1], path) == ["task stale-lockfiles: registered, not in the study"]


def test_what_changed_in_a_task_is_said(study, tasks, path, tmp_path):
    folder = tmp_path / "stale-lockfiles"
    folder.mkdir()
    texts = {name: (tasks[1].folder / name).read_text() for name in ("task.yaml", "answer.py")}
    for name, old, new, told in (
        ("task.yaml", "in any order", "in my order", "prompt"),
        ("answer.py", "def expected", "# another rule\ndef expected", "check"),
        ("task.yaml", "fairness: >-\n", "fairness: >-\n  Now fairer.\n", "other text"),
    ):
        for file, text in texts.items():
            (folder / file).write_text(text.replace(old, new) if file == name else text)
        assert deviations(study, [tasks[0], load_task(folder)], path) == [f"task stale-lockfiles: {told} changed"]


def test_a_registration_is_for_a_decision(study, tasks, tmp_path):
    with pytest.raises(UserError, match="for a decision"):
        preregister(study, tasks, "  ", tmp_path)


def test_a_frozen_file_is_never_written_over(study, tasks, path):
    again = preregister(study, tasks, "which shell prompts name", path.parent, utc_date="2026-11-22")
    assert again == path
    with pytest.raises(UserError, match="already"):
        preregister(study, tasks, "another decision", path.parent, utc_date="2026-11-22")
    assert read_registration(path)["decision"] == "which shell prompts name"


@pytest.mark.parametrize("key", ["decision", "trials", "registered", "analysis", "sha256"])
def test_an_edited_registration_is_refused(key, study, tasks, path):
    frozen = json.loads(path.read_text())
    frozen[key] = "0" * 64 if isinstance(frozen[key], str) else 99
    path.write_text(pretty_json(frozen))
    with pytest.raises(UserError, match="edited after it was made"):
        deviations(study, tasks, path)


def test_what_is_no_registration_is_refused(study, tasks, path):
    frozen = json.loads(path.read_text())
    for data, told in (
        ("no json", "not a registration"),
        ("[]", "not a registration"),
        (pretty_json(with_self_hash({"kind": "pre-registration", "schema_version": 1})), "lacks what it must hold"),
        (
            pretty_json(with_self_hash(frozen | {"schema_version": SCHEMA_VERSION + 1})),
            f"of schema {SCHEMA_VERSION + 1}",
        ),
    ):
        path.write_text(data)
        with pytest.raises(UserError, match=told):
            deviations(study, tasks, path)
    path.unlink()
    with pytest.raises(UserError, match="no such registration"):
        deviations(study, tasks, path)
