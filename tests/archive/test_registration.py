"""A frozen design shows its edits, and a study every way in which it is not the registered one."""

import json
from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import pytest

from fluency.analysis.decision_table import plan_for
from fluency.archive import commands
from fluency.archive.code_hashes import FROZEN, code_sha256
from fluency.archive.registration import (
    design,
    deviations,
    preregister,
    read_registration,
)
from fluency.archive.verify import verify_archive
from fluency.common.canonical import has_valid_self_hash, with_self_hash
from fluency.common.clock import parse_time, utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file
from fluency.common.git import git_state
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import BudgetConfig, Limits, ModelConfig, Price, SandboxConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task, load_tasks
from tests.archive.factory import archived, gather, make, make_study, products
from tests.archive.hostile import drop, record, verify_forged
from tools.pages.config import SECTIONS

TASKS = ("fetch-top-crates", "stale-lockfiles")
DECISION = "which shell prompts name"
FIRST_ANSWER = "2026-11-22T01:02:03.456Z"


@pytest.fixture
def study() -> Study:
    return make_study(TASKS, decision=DECISION)


@pytest.fixture
def tasks(study):
    return load_tasks(study.tasks)


@pytest.fixture
def path(study, tasks, tmp_path):
    return preregister(
        study, tasks, "which shell prompts name", tmp_path / "pre", utc="2026-11-22T00:00:00Z"
    )


def test_a_registration_freezes_what_a_result_depends_on(path, tasks):
    assert path.name == "made-up-2026-11-22.json"
    frozen = read_registration(path)
    assert (
        frozen["decision"] == "which shell prompts name"
        and frozen["trials"] == 2
        and frozen["seeds"] == [11, 24]
    )
    assert frozen["tasks"]["stale-lockfiles"]["sha256"] == tasks[1].sha256
    assert frozen["tasks"]["stale-lockfiles"]["worlds"]["11"] == world_for(tasks[1], 11).sha256
    assert frozen["models"]["qwen-0.5b"]["temperature_sent"] == 0.7
    assert frozen["code"] == {stage: code_sha256(stage) for stage in FROZEN}
    assert (
        frozen["analysis"]["plan"]["bands"] == plan_for(DESIGN_SHELLS)["bands"]
        and frozen["exclusions"]
    )
    assert has_valid_self_hash(frozen) and has_valid_self_hash(with_self_hash(frozen))


def test_the_same_study_deviates_in_nothing(study, tasks, path):
    assert deviations(study, tasks, path) == []
    harmless = study.model_copy(update={"confirm": "yes", "preregistration": str(path)})
    assert deviations(harmless, tasks, path) == []


def changed(study: Study, /, **values) -> Study:
    return Study.model_validate(study.model_dump() | values)


CHANGES = (
    ({"trials": 5}, "trials: registered 2, now 5"),
    ({"seeds": [13, 24]}, "seeds: registered [11, 24], now [13, 24]"),
    ({"seeds": [13, 24]}, "tasks.stale-lockfiles.worlds: not as registered"),
    ({"shells": ["pwsh"]}, 'shells: registered ["bash", "pwsh"], now ["pwsh"]'),
    ({"sandbox": {"limits": {"memory_mb": 512}}}, "limits.memory_mb: registered 1024, now 512"),
    ({"decision": ""}, 'decision: registered "which shell prompts name", now ""'),
)


def test_each_deviation_is_one_sentence(study, tasks, path):
    for values, said in CHANGES:
        assert said in deviations(changed(study, **values), tasks, path)


def test_models_and_tasks_are_compared_by_name(study, tasks, path):
    model = study.models[0].model_dump()
    sent = [
        f"models.qwen-0.5b.temperature_{kind}: registered 0.7, now 1.0"
        for kind in ("requested", "sent")
    ]
    renamed = [
        "models.other: in the study, not registered",
        "models.qwen-0.5b: registered, not in the study",
    ]
    for values, found in (
        (
            {"temperature": 1.0, "max_tokens": 99},
            ["models.qwen-0.5b.max_tokens: registered 512, now 99", *sent],
        ),
        (
            {"base_url": "http://127.0.0.1:9"},
            ["models.qwen-0.5b.base_url: in the study, not registered"],
        ),
        ({"alias": "other"}, renamed),
    ):
        assert deviations(changed(study, models=[model | values]), tasks, path) == found
    assert deviations(study, tasks[:1], path) == [
        "tasks.stale-lockfiles: registered, not in the study"
    ]


def test_what_changed_in_a_task_is_said(study, tasks, path, tmp_path):
    folder = tmp_path / "stale-lockfiles"
    folder.mkdir()
    texts = {
        name: (tasks[1].folder / name).read_text()
        for name in ("task.yaml", "answer.py", "fixture.py")
    }
    for name, old, new, keys in (
        ("task.yaml", "in any order", "in my order", ("prompt_sha256", "sha256")),
        ("answer.py", "def expected", "# another rule\ndef expected", ("check_sha256", "sha256")),
        ("task.yaml", "fairness: >-\n", "fairness: >-\n  Now fairer.\n", ("sha256",)),
    ):
        for file, text in texts.items():
            (folder / file).write_text(text.replace(old, new) if file == name else text)
        assert deviations(study, [tasks[0], load_task(folder)], path) == [
            f"tasks.stale-lockfiles.{key}: not as registered" for key in keys
        ]


MODEL = make_study().models[0].model_dump() | {
    "id": "claude-sonnet-4-5",
    "served_by": "endpoint",
    "wire": "messages",
}
DECIDES = {
    Study: {
        "study": "other", "decision": "other", "tasks": ["stale-lockfiles"], "shells": ["pwsh"], "trials": 5, "seeds": [13, 24],
        "conditions": ["as_designed"], "order_seed": 1,
    },
    ModelConfig: {
        "alias": "other", "id": "claude-sonnet-4-6", "served_by": "embedded", "base_url": "http://127.0.0.1:9",
        "temperature": 0.1, "max_tokens": 9, "thinking": {"type": "disabled"}, "effort": "low",
        "extra_body": {"top_k": 1}, "extra_headers": {"x-other": "1"},
        "wire": "chat", "interface": "tool", "region": "other", "project": "other",
    },
    Limits: {
        "timeout_s": {"bash": 31}, "memory_mb": 512, "pids": 64, "output_bytes": 2048, "file_mb": 65, "tmpfs_mb": 65, "open_files": 257,
    },
}  # fmt: skip
"""Configuration key -> another value, of which the registration must say that it is another."""
DECIDES_NOTHING = {
    Study: {
        "models": "compared key by key", "sandbox": "compared key by key", "budget": "what it may cost", "confirm": "who is asked before it costs", "control": "commands of no model, in no rate", "assume": "what is foretold before it is measured",
        "preregistration": "names the registration",
    },
    ModelConfig: {
        "api_key_env": "who pays", "key_required": "who pays", "price": "what it costs", "requests_per_minute": "pace", "in_flight": "pace",
    },
    SandboxConfig: {"parallel": "pace", "runtime": "isolation", "limits": "compared key by key"},
    BudgetConfig: dict.fromkeys(("confirm_usd", "stop_usd"), "what it may cost"),
    Price: dict.fromkeys(("input_usd_per_mtok", "output_usd_per_mtok", "dated"), "what it costs"),
}  # fmt: skip


def test_every_configuration_key_is_frozen_or_decides_no_number(tmp_path):
    """A new key fails here until one of the two tables has it; in the first table it must be compared."""
    for _, part, _ in SECTIONS:
        decides, free = DECIDES.get(part, {}).keys(), DECIDES_NOTHING.get(part, {}).keys()
        assert decides | free == part.model_fields.keys() and not decides & free, part.__name__
    study = changed(make_study(TASKS, decision=DECISION), models=[MODEL])
    tasks = load_tasks(study.tasks)
    path = preregister(study, tasks, DECISION, tmp_path)
    for part, values in DECIDES.items():
        for key, value in values.items():
            other: dict[str, object] = {key: value}
            if part is ModelConfig:
                other = {"models": [MODEL | other]}
            elif part is Limits:
                other = {"sandbox": {"limits": other}}
            present = changed(study, **other)
            found = deviations(present, load_tasks(present.tasks), path)
            assert found, f"{part.__name__}.{key} decides a number and is not frozen"


def test_every_key_of_the_design_is_compared(study, tasks, path):
    """Everything frozen is compared."""
    frozen = read_registration(path)
    keys = [(key,) for key in design(study, tasks).keys() - {"tasks", "models", "code"}]
    keys += [("code", stage) for stage in frozen["code"]]
    keys += [
        (key, entry, name)
        for key in ("tasks", "models")
        for entry in frozen[key]
        for name in frozen[key][entry]
    ]
    for *parents, last in keys:
        edited = json.loads(json.dumps(frozen))
        reduce(dict.__getitem__, parents, edited)[last] = ["something else"]
        path.write_text(pretty_json(with_self_hash(edited)))
        found = deviations(study, tasks, path)
        assert len(found) == 1, (parents, last, found)


@pytest.mark.parametrize(
    ("registered", "late"), [("2026-11-22T01:02:03Z", False), ("2026-11-22T01:02:04Z", True)]
)
def test_a_registration_after_the_first_answer_is_a_deviation(
    registered, late, study, tasks, tmp_path
):
    path = preregister(study, tasks, DECISION, tmp_path, utc=registered)
    said = f"registered after the first answer: registered {registered}, the first answer came {FIRST_ANSWER}"
    assert deviations(study, tasks, path, FIRST_ANSWER) == ([said] if late else [])
    assert deviations(study, tasks, path) == [], "without an answer nothing came first"


def test_the_record_says_when_and_at_which_commit_it_was_made(study, tasks, tmp_path):
    path = preregister(study, tasks, DECISION, tmp_path)
    frozen = read_registration(path)
    assert (frozen["commit"], frozen["dirty"]) == git_state()
    assert abs((parse_time(utc_now()) - parse_time(frozen["registered_utc"])).total_seconds()) < 600


def test_the_report_says_in_advance_only_where_it_holds(tmp_path):
    """Registered after the answers and gathered again: the report and the record say so."""
    study = make_study(("stale-lockfiles",), trials=1, decision=DECISION)
    made = make(tmp_path, study)
    for utc, said, deviation in (
        ("2026-11-22T01:00:00Z", "Registered in advance in ", False),
        ("2026-11-22T02:00:00Z", "Registered, but not in advance in ", True),
    ):
        path = preregister(study, made.tasks, DECISION, tmp_path / utc[11:13], utc=utc)
        products(replace(made, study=study.model_copy(update={"preregistration": str(path)})))
        report = (made.results / "made-up/report.md").read_text()
        for words in (said, f"on {utc} at commit", "the first answer came 2026-11-22T01:02:03Z"):
            assert words in report
        assert (
            ("registered after the first answer" in report)
            == ("none recorded" not in report)
            == deviation
        )


def test_a_time_to_come_or_an_unreadable_one_is_refused(path):
    """Also a missing one."""
    frozen = json.loads(path.read_text())
    for stated in (
        "2999-01-01T00:00:00Z",
        "2026-02-31T00:00:00Z",
        "2026-11-22",
        "2026-11-22T00:00:00",
        None,
        20261122,
    ):
        path.write_text(pretty_json(with_self_hash(frozen | {"registered_utc": stated})))
        with pytest.raises(UserError, match="is not a time in the past"):
            read_registration(path)


def test_a_registration_holds_the_hashes_of_those_before_it(study, tasks, path):
    """An author who registers five designs and cites one must explain the other four."""
    second = preregister(
        changed(study, trials=5), tasks, DECISION, path.parent, utc="2026-11-23T00:00:00Z"
    )
    third = preregister(
        changed(study, trials=9), tasks, DECISION, path.parent, utc="2026-11-24T00:00:00Z"
    )
    assert read_registration(path)["earlier_sha256"] == []
    assert read_registration(second)["earlier_sha256"] == [sha256_file(path)]
    assert read_registration(third)["earlier_sha256"] == sorted(
        [sha256_file(path), sha256_file(second)]
    )


def test_a_study_says_how_many_registrations_name_its_models_and_tasks(tmp_path):
    """Five, one cited, one of them later; others ask another model or few of its tasks. Leaving one out ends in 1."""
    study = make_study(TASKS, trials=1, decision=DECISION)
    made, folder = make(tmp_path, study), tmp_path / "pre"
    other = [study.models[0].model_dump() | {"id": "qwen2.5-coder-1.5b-instruct"}]
    for day, change in enumerate(
        ({"trials": 2}, {"trials": 5}, {"tasks": [TASKS[0]]}, {"models": other}, {"tasks": ["tree-size-bytes"]}, {}, {"seeds": [13, 24]}),
        start=1,
    ):  # fmt: skip
        design = changed(study, **change)
        path = preregister(
            design, load_tasks(design.tasks), DECISION, folder, utc=f"2026-11-{day:02d}T00:00:00Z"
        )
    cited = replace(
        made, study=changed(study, preregistration=str(folder / "made-up-2026-11-06.json"))
    )
    late = path.rename(tmp_path / path.name)
    products(cited)
    named = gather(cited).registration
    assert named is not None and len(named.siblings) == 3 and named.others_before == 2
    report = (made.results / "made-up/report.md").read_text()
    assert (
        "The registration is one of 4 registrations that name the same models and tasks" in report
    )
    assert (
        "It is one of 4 registrations that name the same models and tasks; 2 earlier registrations of other"
        in report
    )
    late.rename(path)  # registered between report and archive
    archive = archived(cited, tmp_path / "out")
    verified = verify_archive(archive)
    assert verified.exit_code == 0 and "it is one of 5 registrations that name the same" in str(
        verified.found["note"]
    )

    less, sibling = drop("preregistrations/made-up-2026-11-01.json"), "made-up-2026-11-01.json"
    unsaid = record(
        "results/made-up/provenance.json",
        lambda document: document["registration"]["siblings"].pop(sibling),
    )
    for changes, said in (
        ((less,), "it is not the registration that"),
        ((less, unsaid), "it is not the registration that"),
    ):
        forged = verify_forged(archive, tmp_path, *changes)
        assert forged.exit_code == 1 and said in str(forged.altered), forged.altered


def test_registering_prints_how_to_prove_the_order(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    study = make_study(TASKS)
    ready = SimpleNamespace(study=study, tasks=load_tasks(study.tasks))
    assert commands.preregister(ready, DECISION) == 0
    said = capsys.readouterr().out
    assert (
        "preregistration: preregistrations/made-up-" in said and f'decision: "{DECISION}"' in said
    )
    assert "git push" in said and "A verdict needs 15 tasks" in said
    commit, dirty = git_state()
    assert ("No commit holds the code" in said) == (commit is None or bool(dirty))


def test_a_registration_is_for_a_decision(study, tasks, tmp_path):
    with pytest.raises(UserError, match="for a decision"):
        preregister(study, tasks, "  ", tmp_path)


def test_a_frozen_file_is_never_written_over(study, tasks, path):
    again = preregister(
        study, tasks, "which shell prompts name", path.parent, utc="2026-11-22T00:00:00Z"
    )
    assert again == path
    later = preregister(study, tasks, DECISION, path.parent, utc="2026-11-22T09:00:00Z")
    assert later == path and read_registration(path)["registered_utc"] == "2026-11-22T00:00:00Z"
    with pytest.raises(UserError, match="already"):
        preregister(study, tasks, "another decision", path.parent, utc="2026-11-22T00:00:00Z")
    assert read_registration(path)["decision"] == "which shell prompts name"


def test_an_edited_registration_is_refused(study, tasks, path):
    frozen = json.loads(path.read_text())
    for key in ("decision", "registered_utc", "analysis", "sha256"):
        path.write_text(
            pretty_json(frozen | {key: "0" * 64 if isinstance(frozen[key], str) else 99})
        )
        with pytest.raises(UserError, match="edited after it was made"):
            deviations(study, tasks, path)


def test_what_is_no_registration_is_refused(study, tasks, path):
    text = path.read_text()
    for data, said in (
        ("no json", "is not JSON"),
        ("[]", "not a registration of schema 1"),
        (text.replace('  "trials": 2', '  "trials": 2,\n  "trials": 2'), "duplicate key"),
        (text.replace('"schema_version": 1', '"schema_version": 2'), "not a registration of"),
    ):
        path.write_text(data)
        with pytest.raises(UserError, match=said):
            deviations(study, tasks, path)
    path.unlink()
    with pytest.raises(UserError, match="no such registration"):
        deviations(study, tasks, path)
