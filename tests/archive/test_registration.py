"""A frozen design shows its edits, and a study every way in which it is not the registered one."""

import json
import shutil
import subprocess
from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import pytest

from fluency import registration
from fluency.analysis.decision_table import plan_for
from fluency.archive.verify import verify_archive
from fluency.common import git
from fluency.common.canonical import canonical_json, with_self_hash
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256, sha256_file
from fluency.common.git import files_here, git_state
from fluency.common.paths import ROOT
from fluency.core.code_hashes import FROZEN, code_sha256
from fluency.core.provenance import Provenance
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Limits, ModelConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.registration import design, read_registration, with_registration
from tests.archive.factory import (
    archived,
    deviations,
    gather,
    make,
    make_study,
    preregister_at,
    products,
)

TASKS = ("fetch-top-crates", "stale-lockfiles")
DECISION = "which shell prompts name"
UTC = "2026-11-22T00:00:00Z"


@pytest.fixture
def study():
    return make_study(TASKS, decision=DECISION)


@pytest.fixture
def tasks(study):
    return load_tasks(study.tasks)


@pytest.fixture
def path(study, tasks, tmp_path):
    return preregister_at(UTC, study, tasks, DECISION, tmp_path / "pre")


def test_registration_freezes_what_a_result_depends_on(path, study, tasks):
    assert path.name == "made-up-2026-11-22.json"
    frozen = read_registration(path)
    assert (frozen["decision"], frozen["trials"], frozen["seeds"]) == (DECISION, 2, [11, 24])
    task = frozen["tasks"]["stale-lockfiles"]
    assert task["sha256"] == tasks[1].sha256
    assert task["worlds"]["11"] == world_for(tasks[1], 11).sha256
    assert frozen["models"]["qwen-0.5b"]["temperature_sent"] == 0.7
    entries = canonical_json({shell: SHELLS[shell].facts for shell in study.shells})
    stages = {stage: code_sha256(stage) for stage in FROZEN}
    assert frozen["code"] == stages | {"shells": sha256(entries)}
    assert frozen["analysis"]["plan"]["bands"] == plan_for(DESIGN_SHELLS)["bands"]
    assert frozen["exclusions"] and (frozen["commit"], frozen["dirty"]) == (None, None)
    harmless = study.model_copy(update={"confirm": "yes", "preregistration": str(path)})
    assert deviations(study, tasks, path) == deviations(harmless, tasks, path) == []


def changed(study: Study, /, **values) -> Study:
    return Study.model_validate(study.model_dump() | values)


@pytest.mark.parametrize(
    "values, said",
    [
        ({"trials": 5}, ["trials: registered 2, now 5"]),
        (
            {"sandbox": {"limits": {"memory_mb": 512}}},
            ["limits.memory_mb: registered 1024, now 512"],
        ),
        ({"tasks": [TASKS[0]]}, ["tasks.stale-lockfiles: registered, not in the study"]),
        ({"tasks": [*TASKS, "sql-files"]}, ["tasks.sql-files: in the study, not registered"]),
    ],
)
def test_each_deviation_is_one_sentence(values, said, study, path):
    other = changed(study, **values)
    assert deviations(other, load_tasks(other.tasks), path) == said


DECIDES_NOTHING = {
    Study: {"sandbox", "budget", "confirm", "control", "assume", "preregistration"},
    ModelConfig: {"api_key_env", "key_required", "price", "requests_per_minute", "in_flight"},
}
FROZEN_AS = {"temperature": "temperature_sent", "extra_headers": "headers"}


def test_registration_freezes_every_key_that_decides(path):
    """A new key of a study, a model or a limit fails here until it is frozen or decides nothing."""
    frozen = read_registration(path)
    assert Study.model_fields.keys() - DECIDES_NOTHING[Study] - {"turns"} <= frozen.keys()
    assert Limits.model_fields.keys() == frozen["limits"].keys()
    keys = ModelConfig.model_fields.keys() - DECIDES_NOTHING[ModelConfig] - {"alias"}
    assert {FROZEN_AS.get(key, key) for key in keys} <= frozen["models"]["qwen-0.5b"].keys()


def test_every_key_of_the_design_is_compared(study, tasks, path):
    """Another value, no key and an unknown key are each a deviation, or refused with a sentence."""
    frozen = read_registration(path)
    keys = [(key,) for key in design(study, tasks)]
    keys += [
        (key, name) for key in ("code", "prompt", "analysis", "limits") for name in frozen[key]
    ]
    keys += [("analysis", "plan", name) for name in frozen["analysis"]["plan"]]
    keys += [
        (key, entry, name)
        for key in ("tasks", "models")
        for entry in frozen[key]
        for name in frozen[key][entry]
    ]
    for *parents, last in keys:
        for change in (
            lambda place, last: place.update({last: other(place[last])}),
            lambda place, last: place.pop(last),
            lambda place, last: place.update({f"{last}_too": None}),
        ):
            edited = json.loads(json.dumps(frozen))
            change(reduce(dict.__getitem__, parents, edited), last)
            path.write_text(pretty_json(with_self_hash(edited)))
            try:
                found = deviations(study, tasks, path)
            except UserError as error:
                assert "it does not fit the schema" in error.what, (last, error)
            else:
                assert len(found) == 1, (parents, last, found)


def other(value):
    """Another value of the same JSON type; of an object, another entry; 1 for true."""
    match value:
        case dict():
            return {key: value[key] for key in list(value)[1:]} or {"another": None}
        case str():
            return value[:-1] + ("0" if value.endswith("f") else "f")
        case bool() | None:
            return int(bool(value))
        case list():
            return [*value, *value[:1]]
        case _:
            return value + 1


@pytest.mark.parametrize(
    "first, late", [("2026-11-22T00:00:00.456Z", False), ("2026-11-21T23:59:59.9Z", True)]
)
def test_registration_after_first_answer_is_a_deviation(first, late, study, tasks, path):
    said = f"registered after the first answer: registered {UTC}, the first answer came {first}"
    assert deviations(study, tasks, path, first) == [said] * late


def test_study_names_how_many_registrations_ask_the_same(tmp_path):
    """An author who registers five designs and cites one must explain the other four.

    Two more ask another model or another task, one comes between report and archive.
    """
    study = make_study(TASKS, trials=1, decision=DECISION)
    made, folder, paths = make(tmp_path, study), tmp_path / "pre", []
    other = study.models[0].model_dump() | {"id": "qwen2.5-coder-1.5b-instruct"}
    same = ({"trials": 2}, {"trials": 5}, {"tasks": [TASKS[0]]})
    others = ({"models": [other]}, {"tasks": ["tree-size-bytes"]})
    for day, change in enumerate((*same, *others, {}, {"seeds": [13, 24]}), start=1):
        one, utc = changed(study, **change), f"2026-11-{day:02d}T00:00:00Z"
        path = preregister_at(utc, one, load_tasks(one.tasks), DECISION, folder)
        assert read_registration(path)["earlier_sha256"] == sorted(map(sha256_file, paths))
        paths.append(path)
    cited = replace(made, study=changed(study, preregistration=str(paths[5])))
    late = path.rename(tmp_path / path.name)
    products(cited)
    named = gather(cited).registration
    assert named is not None and len(named.siblings) == 3 and named.others_before == 2
    report = (made.results / "made-up/report.md").read_text()
    one_of = "is one of 4 registrations that name the same models and tasks"
    assert f"The registration {one_of}; 2 earlier registrations of other" in report
    late.rename(path)
    verified = verify_archive(archived(cited, tmp_path / "out"))
    assert verified.exit_code == 0, verified.lines()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """This checkout's code as a repository; commits all at a time and returns the commit."""
    root = tmp_path / "repository"
    for folder in ("scripts", "sandbox"):
        shutil.copytree(ROOT / folder, root / folder)
    for module in (git, registration):
        monkeypatch.setattr(module, "ROOT", root)

    def commit(utc):
        monkeypatch.setenv("GIT_COMMITTER_DATE", utc)
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "A commit")):
            subprocess.run(["git", *command], cwd=root, check=True)
        return git.git_state()[0]

    return commit


def test_git_refutes_or_proves_when_and_where_a_study_was_registered(repository, study, tasks):
    first, file = "2026-11-25T00:00:00Z", git.ROOT / "scripts/fluency/core/study.py"
    commit = repository("2026-11-20T00:00:00Z")
    path = preregister_at(UTC, study, tasks, DECISION, git.ROOT / "pre")
    cited = study.model_copy(update={"preregistration": str(path.relative_to(git.ROOT))})

    def found(first=first, **changes):
        path.write_text(pretty_json(with_self_hash(read_registration(path) | changes)))
        made = with_registration(Provenance(first_answer_utc=first), cited, tasks)
        assert made.registration and {*made.registration.refuted} <= {*made.deviations}
        return made.registration.refuted, made.registration.unproven

    named = {"commit": commit, "dirty": False}
    none = "order not proven: git here has no such file"
    assert found() == ([], [none])
    assert found(**named) == ([], [none])
    assert found(registered_utc="2026-11-19T00:00:00Z", **named)[0] == [
        "registered_utc: 2026-11-19T00:00:00Z is before its commit, which is of "
        "2026-11-20T00:00:00Z"
    ]
    found(registered_utc=UTC, **named)
    repository("2026-11-23T00:00:00Z")
    assert found() == ([], [])
    (late,) = found("2026-11-22T12:00:00Z")[1]
    assert "order not proven: the first commit with it" in late
    found(registered_utc="2026-11-24T00:00:00Z")
    repository("2026-11-23T12:00:00Z")
    ((after,), _) = found()
    assert "is after the commit with its file, of 2026-11-23T12:00:00Z" in after
    file.write_text(file.read_text() + "\n")
    found(registered_utc=UTC)
    (unclean,) = found()[0]
    assert unclean == "dirty: its commit has no such scripts/fluency/core/study.py as it registers"
    assert found(dirty=True)[0] == []


def test_change_of_this_checkout_is_no_deviation_of_the_study(study, tasks, path):
    """Read by another plan than the stated commit's: said apart from what the study did."""
    now = registration.design(study, tasks) | {"exclusions": ["x"], "trials": 3}

    def found(tree):
        made = registration.compared(Provenance(), str(path), path.read_bytes(), now, {}, tree)
        return made.deviations, "; ".join(made.registration.unproven)

    (kept,), said = found({f"{registration.ANALYSIS}x.py": "0" * 40})
    assert kept == "trials: registered 2, now 3" and "analysed by this checkout's plan" in said
    both, said = found(files_here(registration.ANALYSIS))
    assert len(both) == 2 and "analysed" not in said


def test_preregister_prints_how_to_prove_order(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registration, "ROOT", tmp_path)
    study = make_study(TASKS)
    ready = SimpleNamespace(study=study, tasks=load_tasks(study.tasks))
    assert registration.register(ready, DECISION) == 0
    said = capsys.readouterr().out
    assert "preregistration: preregistrations/made-up-" in said
    assert f'decision: "{DECISION}"' in said
    assert "git push" in said and "A verdict needs 15 tasks" in said
    commit, dirty = git_state()
    assert ("No commit holds the code" in said) == (commit is None or bool(dirty))


def test_preregister_needs_decision_and_never_overwrites(study, tasks, path):
    first, folder = path.read_bytes(), path.parent
    assert preregister_at("2026-11-22T09:00:00Z", study, tasks, DECISION, folder) == path
    for decision, said in (("another", "already"), ("  ", "for a decision")):
        with pytest.raises(UserError, match=said):
            preregister_at(UTC, study, tasks, decision, folder)
    assert path.read_bytes() == first


def test_read_registration_refuses_damage_edits_and_future(study, tasks, path):
    text = path.read_text()
    frozen = json.loads(text)
    refused = [
        ("no json", "is not JSON"),
        ("[]", "does not fit the schema"),
        (text.replace('  "trials": 2', '  "trials": 2,\n  "trials": 2'), "duplicate key"),
        (text.replace('"schema_version": 1', '"schema_version": 2'), "schema_version"),
    ]
    for key in ("decision", "trials", "analysis", "sha256"):
        refused.append(
            (pretty_json(frozen | {key: other(frozen[key])}), "edited after it was made")
        )
    for made, said in {
        "2999-01-01T00:00:00Z": "is not a time in the past",
        "2026-02-31T00:00:00Z": "is not a time in the past",
        "2026-11-22": "registered_utc",
        None: "registered_utc",
        20261122: "registered_utc",
    }.items():
        refused.append((pretty_json(with_self_hash(frozen | {"registered_utc": made})), said))
    for data, said in refused:
        path.write_text(data)
        with pytest.raises(UserError, match=said):
            deviations(study, tasks, path)
    path.unlink()
    with pytest.raises(UserError, match="no such registration"):
        deviations(study, tasks, path)
