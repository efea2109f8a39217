"""Forgeries whose manifest fits again, and what a verification says of each."""

import json
import re
from dataclasses import replace

import pytest

from fluency.archive import pack, verify
from fluency.archive.decision import write_decision
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.canonical import canonical_json
from fluency.common.clock import utc_date
from fluency.common.files import pretty_json, sha256
from fluency.common.git import git, git_state
from fluency.core.code_hashes import code_hashes
from fluency.core.schema import RECORD_SCHEMA
from fluency.core.task_world import world_for
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import (
    Change,
    drop,
    flip,
    put,
    record,
    replace_file,
    rewritten,
    text,
    verify_forged,
)

CELL = "qwen-0.5b/bash/stale-lockfiles/1"
GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/{CELL}.json" for stage in ("generations", "executions", "scores")
)
PRODUCTS = "results/made-up/"
PROVENANCE, TABLE, CONTROL = (
    PRODUCTS + name for name in ("provenance.json", "cells.csv", "control.json")
)
TASK = "tasks/stale-lockfiles"
WORLD = r"worlds/11-.*/"
OTHER_CODE = dict.fromkeys(code_hashes(), "f" * 64)


def execution(*keys, value) -> Change:
    return record(EXECUTION, put(*keys, value=value))


def result(*keys, value) -> Change:
    return execution("runs", 0, "result", *keys, value=value)


def stated(*keys, value) -> Change:
    return record(PROVENANCE, put(*keys, value=value))


def ran(utc: str) -> Change:
    return execution("provenance", "utc", value=utc)


def added(name: str) -> Change:
    return lambda files: files.update({name: b"x"})


def answer(*keys, value) -> Change:
    """Change the answer in its file, whose inner hash is made to fit, and in the generation."""

    def change(files: dict[str, bytes]) -> None:
        record(GENERATION, put("answer", *keys, value=value))(files)
        copy = json.loads(files[GENERATION])["answer"]
        name = f"answers/{copy['request_key'][:2]}/{copy['request_key']}.json"
        files[name] = pretty_json({"answer": copy, "sha256": sha256(canonical_json(copy))}).encode()

    return change


def swap(files: dict[str, bytes]) -> None:
    """The records of the two shells change places."""
    for one in (GENERATION, EXECUTION, SCORE):
        two = one.replace("bash", "pwsh")
        files[one], files[two] = files[two], files[one]


def no_sandbox(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("sandbox/")]:
        del files[name]


def set_back(files: dict[str, bytes]) -> None:
    """Executed, by a clock that was set back, twelve minutes before the answer came."""
    ran("2026-11-22T00:50:03Z")(files)
    stated("started_utc", value="2026-11-22T00:50:03Z")(files)


def pattern(files: dict[str, bytes]) -> None:
    """Another pattern, which takes for ever on a long line."""
    name = f"{TASK}/task.yaml"
    files[name] = re.sub(rb"line: .*", rb"line: '(a+)+$'", files[name], count=1)


RESEALED = {"text": "Get-ChildItem", "outcome": "refusal", "stop_reason": "x", "model_echoed": "x"}
RESEALED |= {"usage": {}}
NO_BASE64 = {"data": "a", "bytes": 1, "encoding": "base64"}
# fmt: off
FORGERIES: dict[str, tuple[Change | dict, str]] = {
    # what is altered: the change, or the manifest's facts, and what is said
    "study": (text("study.json", '"trials": 1', '"trials": 2'), "`cells` is not what the study"),
    "a set with tasks left out": (
        record("study.json", put("tasks", value=["sql-files"])), "the archived tasks are not"),
    "another study": (record("study.json", put("study", value="other")), "it is not the study"),
    "lock file": (flip("envs/requirements.lock"), "envs/requirements.lock"),
    **{
        f"{name} left out": (drop(name), f"{name}: the archive does not hold it")
        for name in ("prices/policies.yaml", "envs/requirements.lock", PROVENANCE, TABLE, CONTROL)
    },
    "registration": (
        text("preregistrations/.*", '"trials": 1', '"trials": 3'), "edited after"),
    "task prompt": (
        text(f"{TASK}/task.yaml", "in any order", "in my order"), "give another prompt"),
    "task pattern": (pattern, "its code or check is not this checkout's"),
    "task content": (
        text(f"{TASK}/task.yaml", "content: set", "content: paths"), "its code or check is not"),
    "task needs": (
        text(f"{TASK}/task.yaml", "content:", "needs: [http]\ncontent:"), "its code or check"),
    "task code": (text(f"{TASK}/answer.py", "def", "#\ndef"), "its code or check is not"),
    "code that is not text": (replace_file(f"{TASK}/answer.py", b"\xff"), "its code or check is not"),
    "tree": (flip(WORLD + "tree.tar"), "worlds/11-"),
    "ages": (text(WORLD + "world.json", ": 1", ": 2"), "worlds/11-"),
    "service": (text(WORLD + "world.json", '"status": 200', '"status": 201'), "worlds/11-"),
    "processes": (text(WORLD + "world.json", '"rss_mb": ', '"rss_mb": 1'), "worlds/11-"),
    "world index": (
        record("worlds/index.json", lambda index: [one.update({"11": one["24"]})
            for one in index.values()]), "it is of another seed"),
    "answer": (text("answers/.*", "crates", "cretas"), "not a stored answer"),
    **{
        f"answer's {key}": (answer(key, value=value), f"raw message give another {key}")
        for key, value in RESEALED.items()
    },
    "no message": (answer("raw", value={}), "raw message give another message"),
    "answer of the record": (
        record(GENERATION, put("answer", "server", value="x")), "is not the one in answers/"),
    "answer left out": (drop("answers/.*"), "answers/"),
    "answer after the day": (
        answer("received_utc", value="2026-11-23T00:00:00Z"), "after the archive's day"),
    "answer without an attempt": (answer("attempts", value=0), "negative or infinite"),
    "answer before it was asked": (answer("latency_s", value=-1.0), "negative or infinite"),
    "sampling": (
        record("study.json", lambda value: value["models"][0].update(max_tokens=9)),
        "give another request"),
    "temperature": (
        record(GENERATION, put("temperature_requested", value=0.1)), "another temperature"),
    "another trial": (answer("request", "trial", value=2), "its request is of another trial"),
    "another task asked": (text(GENERATION, "in any order", "in my order"), "its prompt lacks"),
    "another shell asked": (text(GENERATION, "single bash", "single fish"), "its prompt lacks"),
    "request": (
        answer("request", "temperature", value=0.1), "hash, request and name do not fit"),
    "cost": (record(GENERATION, put("cost_usd", value=1.0)), "give another cost"),
    "generation left out": (drop(GENERATION), f"{CELL}: it has a record without"),
    "execution left out": (drop(EXECUTION), f"{CELL}: it has a record without"),
    "command": (execution("extraction", "strict", value="true"), "another command"),
    "output": (result("stdout", value={"data": "", "bytes": 0}), "judged again"),
    "exit code": (result("exit_code", value=1), "judged again"),
    "world of a run": (execution("runs", 0, "world_sha256", value="0" * 64), "in other worlds"),
    "seed of a run": (execution("runs", 0, "seed", value=13), "it cannot be judged: "),
    "image": (execution("image", "shells", "pwsh", value="7.4.0"), "results/image.json"),
    "image left out": (drop("results/image.json"), "does not hold it"),
    "sandbox left out": (no_sandbox, "sandbox/Dockerfile: the archive does not hold it"),
    "sandbox source": (flip("sandbox/runner.py"), "not those the image was built from"),
    "limits": (execution("timeout_s", value=600.0), "limits are not the study's"),
    "memory": (execution("limits", "memory_mb", value=2048), "limits are not the study's"),
    "a shell that was there": (
        execution("not_measured", value="no shell"), "does not follow from its image"),
    "run left out": (
        record(EXECUTION, lambda value: value["runs"].pop()), "worlds and conditions"),
    "no attempt": (execution("attempts", value=-1), "contradicts itself"),
    "5,000 seconds": (result("wall_s", value=5000.0), "contradicts itself or the limits"),
    "negative time": (result("wall_s", value=-0.25), "contradicts itself"),
    "stopped in time": (result("timed_out", value=True), "contradicts itself"),
    "ended twice": (result("signal", value=9), "contradicts itself"),
    "less than no time": (result("used", "cpu_s", value=-1.0), "contradicts itself"),
    "no base64": (
        record(CONTROL, put("runs", 0, "results", "11", "stdout", value=NO_BASE64)), "contradict"),
    "no byte": (result("stdout", "bytes", value=0), "contradicts itself"),
    "cut and whole": (result("stderr", "truncated", value=True), "contradicts"),
    "more than the cap": (
        result("stderr", value={"data": "x" * (1 << 21), "bytes": 1 << 21}), "the limits"),
    "executed two days early": (ran("2026-11-20T01:03:04Z"), "more than a day before"),
    "executed after the day": (ran("2026-11-23T00:00:01+00:00"), "after the archive's day"),
    "executed at no time": (execution("provenance", value={}), "or never"),
    "executed some time": (execution("provenance", "utc", value="x"), "or never"),
    "schema": (execution("schema_version", value=RECORD_SCHEMA + 1), "does not fit the schema"),
    "a key given twice": (text(EXECUTION, "{", '{"cell": 0,'), "duplicate key"),
    "peak": (result("used", "peak_memory_bytes", value=1 << 40), "cells.csv"),
    "score": (record(SCORE, put("passed", value=False)), "judged again"),
    "score as a text": (
        record(SCORE, put("passed", value="no")), "passed: Input should be a valid boolean"),
    "trial as a text": (record(SCORE, put("cell", "trial", value="1")), "cell.trial"),
    "reason": (record(SCORE, put("why", value="Because.")), "judged again"),
    "cells swapped": (swap, "another cell"),
    "table": (text(TABLE, "True", "False"), "does not say what the records say"),
    "provenance": (text(PROVENANCE, '"answers": 2', '"answers": 9'), "`sampling` is not what"),
    "first answer": (
        stated("first_answer_utc", value="2026-12-22T01:02:03Z"), "`first_answer_utc`"),
    "control right in one world": (
        record(CONTROL, put("runs", 0, "results", "24", "exit_code", value=1)), "ends differently"),
    "control without results": (
        record(CONTROL, put("runs", 0, "results", value={})), "its results contradict the study"),
    "control's hours": (
        record(CONTROL, put("runs", 0, "results", "11", "wall_s", value=5000.0)), "contradict the"),
    "control in another image": (
        record(CONTROL, put("image", "base", value="x")), "control.json: its image is not"),
    "control cut": (
        record(CONTROL, lambda value: value["runs"].pop()), "not the tasks' first commands"),
    "registration's time": (
        stated("registration", "utc", value="2026-10-01T00:00:00Z"), "not the archived one"),
    "deviations": (
        stated("deviations", value=["none worth telling"]), "deviations are not those found"),
    "an unnamed note": (added(PRODUCTS + "notes.md"), "nothing in the study names it"),
    "a record of no cell": (
        added(SCORE.replace("/1.json", "/9.json")), "nothing in the study names it"),
    "a day of 2099": ({"utc_date": "2099-01-01"}, "has not come yet"),
    "cells": ({"cells": 3}, "`cells` is not what the study"),
}
ALLOWED: dict[str, tuple[Change | dict, str]] = {
    "clock set back 12 minutes": (set_back, "a clock was set back"),
    "an earlier task": (
        record(GENERATION, put("task_sha256", value="0" * 64)), "another version of the task"),
    "report": (flip(PRODUCTS + "report.md"), ""),
    "explorer left out": (drop(PRODUCTS + "explorer.html"), ""),
    "code": ({"code": OTHER_CODE}, "0 of 9 stages have this checkout's code"),
    "uncommitted": ({"dirty": True}, "which no commit holds"),
}
# fmt: on


@pytest.mark.parametrize("name", FORGERIES | ALLOWED)
def test_forgery_ends_as_promised(name, small_archive, tmp_path):
    forged, what = (FORGERIES | ALLOWED)[name]
    changes, facts = ((), forged) if isinstance(forged, dict) else ((forged,), {})
    report = verify_forged(small_archive, tmp_path, *changes, **facts)
    assert report.exit_code == (name in FORGERIES), report.lines(100)
    assert what in "\n".join(report.lines(100)), report.lines(100)


@pytest.mark.parametrize("keys", [("passed",), ("worlds", 0, "passed")])
def test_forged_score_by_other_code_is_not_checked(keys, small_archive, tmp_path):
    """Code hashes can be forged too: then this checkout cannot tell, and never says PROVEN."""
    changes = [(keys, False), (("provenance", "code_sha256"), "another")]
    forged = (record(SCORE, put(*place, value=value)) for place, value in changes)
    report = verify_forged(small_archive, tmp_path, *forged, code=OTHER_CODE)
    assert (report.verdict("scores"), report.exit_code) == ("NOT CHECKED", 3)
    assert "git checkout 0123456789abcdef" in report.lines()[-2]


def test_world_of_another_generator_is_altered(tmp_path, monkeypatch):
    """A study that ran in easier worlds, in which every hash fits."""

    def easier(task, seed):
        world = world_for(task, seed)
        return replace(world, files=dict(world.files) | {"easy": b""})

    monkeypatch.setattr(pack, "world_for", easier)
    made = make(tmp_path / "s", make_study(("stale-lockfiles",), trials=1), worlds=easier)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert "generator makes another world for stale-lockfiles" in str(report.altered)
    assert report.exit_code == 1


def test_other_wording_by_other_code_is_proven(small_archive, tmp_path, monkeypatch):
    other = code_hashes() | {"score": "another", "gather": "another"}
    monkeypatch.setattr(verify, "code_hashes", lambda: other)
    changes = (
        record(SCORE, put("why", value="Because.")),
        record(SCORE, put("provenance", "code_sha256", value="another")),
        text(TABLE, ",unix-only,", ",mixed,"),
    )
    assert verify_forged(small_archive, tmp_path, *changes).exit_code == 0


def test_files_of_a_known_clean_commit_are_compared(small, tmp_path):
    """Dockerfile and runner were changed, and the image's hash with them."""
    commit, _ = git_state()
    if commit is None:
        pytest.skip("git is missing")
    tracked = git("show", f"{commit}:sandbox/README.md")
    path = archived(small, tmp_path, commit=commit, utc_date=utc_date())
    (tmp_path / "x").mkdir()
    report = verify_forged(path, tmp_path / "x", replace_file("sandbox/README.md", b"mine"))
    said = "sandbox/README.md: it is not the file of the stated commit"
    assert tracked and said in map(str, report.altered)
    early = verify_forged(path, tmp_path / "x", utc_date="2020-01-01")
    assert "its day is before its commit's" in str(early.altered)


def test_archived_code_is_never_run(small_archive, tmp_path):
    trap = tmp_path / "sprung"
    evil = f"open({str(trap)!r}, 'w').close()\n".encode()

    def change(files: dict[str, bytes]) -> None:
        files[f"{TASK}/answer.py"] = evil + files[f"{TASK}/answer.py"]
        files[f"{TASK}/fixture.py"] = evil + b"def extend(builder, rng): pass\n"

    report = verify_forged(small_archive, tmp_path, change)
    assert report.checked["scores"] == 0 and report.exit_code != 0
    found = replay_archive(tmp_path / small_archive.name)
    assert "task stale-lockfiles has another check than the archived one" in found.notes
    assert found.differences == [] and not trap.exists()


def test_wholly_forged_study_differs_by_hash(small_archive, tmp_path):
    """Invented answers that went through the real pipeline are consistent: the note says so."""
    study = make_study(("stale-lockfiles",), trials=1)
    forged = make(tmp_path / "forged", study, reply=lambda task, cell: task.wrong[cell.shell][0])
    report = verify_archive(archived(forged, tmp_path / "out"))
    assert report.exit_code == 0 and "no archive can prove that its answers" in report.lines()[-2]
    assert report.sha256 != sha256(small_archive.read_bytes())


def test_verify_compares_record_hash(small_archive, tmp_path, capsys):
    record_ = write_decision(small_archive, "Which", tmp_path)
    assert verify.verify(small_archive, record_) == 0
    (tmp_path / "x").mkdir()
    other = rewritten(small_archive, tmp_path / "x", flip("results/made-up/report.md"))
    assert verify.verify(other) == 0 and verify.verify(other, record_) == 1
    assert "it is not the archive that" in capsys.readouterr().out
