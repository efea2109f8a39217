"""Forgeries whose manifest fits again, and what a verification says of each: the table of the promise."""

import json
from collections.abc import Callable

import pytest

from fluency.archive import commands, judge_again, verify
from fluency.archive.code_hashes import code_hashes
from fluency.archive.decision import write_decision
from fluency.archive.verify import verify_archive
from fluency.common.canonical import canonical_json
from fluency.common.clock import utc_date
from fluency.common.files import pretty_json, sha256
from fluency.common.git import git, git_state
from fluency.core.schema import RECORD_SCHEMA
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import (
    Change,
    drop,
    find,
    flip,
    put,
    record,
    replace_file,
    rewritten,
    text,
    verify_forged,
)
from tests.archive.test_honest import made_from, write_control

CELL = "qwen-0.5b/bash/stale-lockfiles/1"
GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/{CELL}.json" for stage in ("generations", "executions", "scores")
)
PROVENANCE, TABLE = (f"results/made-up/{name}" for name in ("provenance.json", "cells.csv"))
TASK = "tasks/stale-lockfiles"
WORLD = r"worlds/11-.*/"


def run(*keys, value) -> Callable[[dict], None]:
    return put("runs", 0, "result", *keys, value=value)


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
    for stage in ("generations", "executions", "scores"):
        one, two = (
            f"results/{stage}/{CELL.replace('bash', shell)}.json" for shell in ("bash", "pwsh")
        )
        files[one], files[two] = files[two], files[one]


def no_sandbox(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("sandbox/")]:
        del files[name]


def set_back(files: dict[str, bytes]) -> None:
    """Executed, by a clock that was set back, twelve minutes before the answer came."""
    record(EXECUTION, put("provenance", "utc", value="2026-11-22T00:50:03Z"))(files)
    record(PROVENANCE, put("started_utc", value="2026-11-22T00:50:03Z"))(files)


def passed_as_text(files: dict[str, bytes]) -> None:
    record(SCORE, put("passed", value="no"))(files)


def pattern(files: dict[str, bytes]) -> None:
    """Another pattern, which takes for ever on a long line."""
    name = f"{TASK}/task.yaml"
    line = next(line for line in files[name].decode().splitlines() if "line: " in line)
    new = line.split("line: ")[0] + "line: '(a+)+$'"
    files[name] = files[name].replace(line.encode(), new.encode())


FORGERIES: dict[str, tuple[Change, int, str]] = {
    # what is altered: the change, the exit code, what is said
    "study": (text("study.json", '"trials": 1', '"trials": 2'), 1, "`cells` is not the size"),
    "a set with tasks left out": (record("study.json", put("tasks", value="all")), 1, "the archived tasks are not the study's"),
    "another study": (record("study.json", put("study", value="other")), 1, "it is not the study"),
    "lock file": (flip("envs/requirements.lock"), 1, "envs/requirements.lock"),
    "prices left out": (drop("prices/policies.yaml"), 1, "does not hold it"),
    "registration": (text("preregistrations/.*", '"trials": 1', '"trials": 3'), 1, "edited after"),
    "task prompt": (text(f"{TASK}/task.yaml", "in any order", "in my order"), 1, "give another prompt"),
    "task pattern": (pattern, 1, "its code or check is not this checkout's"),
    "task code": (text(f"{TASK}/answer.py", "def", "#\ndef"), 1, "its code or check is not"),
    "tree": (flip(WORLD + "tree.tar"), 1, "worlds/11-"),
    "ages": (text(WORLD + "world.json", ": 1", ": 2"), 1, "worlds/11-"),
    "service": (text(WORLD + "world.json", '"status": 200', '"status": 201'), 1, "worlds/11-"),
    "processes": (text(WORLD + "world.json", '"rss_mb": ', '"rss_mb": 1'), 1, "worlds/11-"),
    "world index": (text("worlds/index.json", "/11-", "/24-"), 1, "worlds/24-"),
    "answer": (text("answers/.*", "crates", "cretas"), 1, "not a stored answer"),
    "answer resealed": (answer("text", value="Get-ChildItem"), 1, "raw message give another text"),
    "answer left out": (drop("answers/.*"), 1, "answers/"),
    "answer after the day": (answer("received_utc", value="2026-11-23T00:00:00Z"), 1, "after the archive's day"),
    "answer without an attempt": (answer("attempts", value=0), 1, "negative or infinite"),
    "request": (answer("request", "temperature", value=0.1), 1, "hash, request and name do not fit"),
    "cost": (record(GENERATION, put("cost_usd", value=1.0)), 1, "give another cost"),
    "generation left out": (drop(GENERATION), 1, CELL),
    "command": (record(EXECUTION, put("extraction", "strict", value="true")), 1, "another command"),
    "output": (record(EXECUTION, put("runs", 0, "result", "stdout", value={"data": "", "bytes": 0})), 1, "judged again"),
    "exit code": (record(EXECUTION, run("exit_code", value=1)), 1, "judged again"),
    "world of a run": (record(EXECUTION, put("runs", 0, "world_sha256", value="0" * 64)), 1, "in other worlds"),
    "image": (record(EXECUTION, put("image", "shells", "pwsh", value="7.4.0")), 1, "results/image.json"),
    "image left out": (drop("results/image.json"), 1, "does not hold it"),
    "sandbox left out": (no_sandbox, 1, "sandbox/Dockerfile: the archive does not hold it"),
    "sandbox source": (flip("sandbox/runner.py"), 1, "not those the image was built from"),
    "limits": (record(EXECUTION, put("timeout_s", value=600.0)), 1, "limits are not the study's"),
    "run left out": (record(EXECUTION, lambda value: value["runs"].pop()), 1, "worlds and conditions"),
    "no attempt": (record(EXECUTION, put("attempts", value=-1)), 1, "without an attempt"),
    "5,000 seconds": (record(EXECUTION, run("wall_s", value=5000.0)), 1, "contradicts itself or the limits"),
    "negative time": (record(EXECUTION, run("wall_s", value=-0.25)), 1, "contradicts itself"),
    "stopped in time": (record(EXECUTION, run("timed_out", value=True)), 1, "contradicts itself"),
    "ended twice": (record(EXECUTION, run("signal", value=9)), 1, "contradicts itself"),
    "no byte": (record(EXECUTION, run("stdout", "bytes", value=0)), 1, "contradicts itself"),
    "cut and whole": (record(EXECUTION, run("stderr", "truncated", value=True)), 1, "contradicts"),
    "more than the cap": (record(EXECUTION, run("stderr", value={"data": "x" * (1 << 21), "bytes": 1 << 21})), 1, "the limits"),
    "executed two days early": (record(EXECUTION, put("provenance", "utc", value="2026-11-20T01:03:04Z")), 1, "more than a day before"),
    "executed after the day": (record(EXECUTION, put("provenance", "utc", value="2026-11-23T00:00:01+00:00")), 1, "after the archive's day"),
    "clock set back 12 minutes": (set_back, 0, "a clock was set back"),
    "schema": (record(EXECUTION, put("schema_version", value=RECORD_SCHEMA + 1)), 1, "does not fit the schema"),
    "peak": (record(EXECUTION, put("runs", 0, "result", "used", "peak_memory_bytes", value=1 << 40)), 1, "cells.csv"),
    "score": (record(SCORE, put("passed", value=False)), 1, "judged again"),
    "score as a text": (passed_as_text, 1, "passed: Input should be a valid boolean"),
    "trial as a text": (record(SCORE, put("cell", "trial", value="1")), 1, "cell.trial"),
    "reason": (record(SCORE, put("why", value="Because.")), 1, "judged again"),
    "cells swapped": (swap, 1, "another cell"),
    "table": (text(TABLE, "True", "False"), 1, "does not say what the records say"),
    "table of commas": (replace_file(TABLE, b"," * 500_000), 1, "does not say what the records say"),
    "table left out": (drop(TABLE), 1, "does not hold it"),
    "provenance": (text(PROVENANCE, '"answers": 2', '"answers": 9'), 1, "`sampling` is not what"),
    "first answer": (record(PROVENANCE, put("first_answer_utc", value="2026-12-22T01:02:03Z")), 1, "`first_answer_utc`"),
    "registration's time": (record(PROVENANCE, put("registration", "utc", value="2026-10-01T00:00:00Z")), 1, "not the registration"),
    "deviations": (record(PROVENANCE, put("deviations", value=["none worth telling"])), 1, "deviations are not those found"),
    "report": (flip("results/made-up/report.md"), 0, ""),
    "explorer left out": (drop("results/made-up/explorer.html"), 0, ""),
    "an unnamed note": (lambda files: files.update({"results/made-up/notes.md": b"x"}), 1, "nothing in the study names it"),
    "a record of no cell": (lambda files: files.update({"results/scores/qwen-0.5b/bash/stale-lockfiles/9.json": b"x"}), 1, "nothing in the study names it"),
}  # fmt: skip
FACTS: dict[str, tuple[dict, int, str]] = {
    "a day of 2099": ({"utc_date": "2099-01-01"}, 1, "has not come yet"),
    "cells": ({"cells": 3}, 1, "`cells` is not the size of the design"),
    "code": (
        {"code": dict.fromkeys(code_hashes(), "f" * 64)},
        0,
        "0 of 9 stages have this checkout's code",
    ),
    "uncommitted": ({"dirty": True}, 0, "which no commit holds"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgery_ends_as_promised(name, small_archive, tmp_path):
    change, code, what = FORGERIES[name]
    report = verify_forged(small_archive, tmp_path, change)
    assert report.exit_code == code and what in "\n".join(report.lines(100)), report.lines(100)


@pytest.mark.parametrize("name", FACTS)
def test_forged_manifest_ends_as_promised(name, small_archive, tmp_path):
    facts, code, what = FACTS[name]
    report = verify_forged(small_archive, tmp_path, **facts)
    assert report.exit_code == code and what in "\n".join(report.lines(100)), report.lines(100)


def test_forged_score_by_other_code_is_not_checked(small_archive, tmp_path):
    """Code hashes can be forged too: then this checkout cannot tell, and never says PROVEN."""
    facts = {"code": dict.fromkeys(code_hashes(), "f" * 64)}
    report = verify_forged(
        small_archive, tmp_path, record(SCORE, put("passed", value=False)), **facts
    )
    assert (report.verdict("scores"), report.exit_code) == ("NOT CHECKED", 3)
    assert "git checkout 0123456789abcdef" in report.lines()[-2]


def test_other_wording_by_other_code_is_proven(small_archive, tmp_path, monkeypatch):
    other = {stage: code_hashes()[stage] for stage in code_hashes()} | dict.fromkeys(
        ("score", "gather"), "another"
    )
    monkeypatch.setattr(verify, "code_hashes", lambda: other)
    changes = (
        record(SCORE, put("why", value="Because.")),
        text(TABLE, ",unix-only,", ",mixed,"),
    )
    assert verify_forged(small_archive, tmp_path, *changes).exit_code == 0


@pytest.fixture(scope="module")
def controlled(tmp_path_factory):
    """The archive of a study with its control."""
    root = tmp_path_factory.mktemp("control")
    made = made_from(root, control=True)
    write_control(made, ("bash", "pwsh"))
    from tests.archive.factory import products

    products(made)
    return archived(made, root / "out")


def turned(document: dict) -> None:
    for one in document["runs"]:
        one["passed"] = not one["passed"]


def empty(document: dict) -> None:
    document["runs"][0]["results"] = {}


@pytest.mark.parametrize(
    ("edit", "code", "what"),
    [
        (lambda document: None, 0, ""),
        (turned, 1, "judged again it ends differently"),
        (empty, 1, "its results contradict the study"),
        (lambda document: document["runs"].pop(), 1, "its runs are not the tasks' first commands"),
    ],
)
def test_control_is_judged_like_a_cell(edit, code, what, controlled, tmp_path):
    report = verify_forged(controlled, tmp_path, record(r"results/.*/control\.json", edit))
    assert report.exit_code == code and what in str(report.altered)


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


DOCUMENTS = (
    "study.json",
    "worlds/index.json",
    "results/image.json",
    PROVENANCE,
    EXECUTION,
    GENERATION,
)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_key_given_twice_is_refused(name, small_archive, tmp_path):
    def twice(files: dict[str, bytes]) -> None:
        data = files[find(files, name)]
        key = data.split(b'"')[1]
        files[find(files, name)] = data.replace(b"{", b'{"%b": 0,' % key, 1)

    report = verify_forged(small_archive, tmp_path, twice)
    assert any(p.where == name and "duplicate key" in p.what for p in report.altered)


def test_archived_code_is_never_run(small_archive, tmp_path):
    trap = tmp_path / "sprung"
    evil = f"open({str(trap)!r}, 'w').close()\n".encode()

    def change(files: dict[str, bytes]) -> None:
        files[f"{TASK}/answer.py"] = evil + files[f"{TASK}/answer.py"]
        files[f"{TASK}/fixture.py"] = evil + b"def extend(builder, rng): pass\n"

    report = verify_forged(small_archive, tmp_path, change)
    assert not trap.exists() and report.checked["scores"] == 0 and report.exit_code != 0


def test_score_that_cannot_be_made_is_altered(small_archive, monkeypatch):
    def fails(*args, **kwargs):
        raise judge_again.UserError("no world of this seed", hint="none")

    monkeypatch.setattr(judge_again, "score_cell", fails)
    report = verify_archive(small_archive)
    assert "it cannot be judged: no world of this seed" in str(report.altered)
    assert report.verdict("scores") == "ALTERED"


def test_wholly_forged_study_differs_by_hash(small_archive, tmp_path):
    """Answers that were never given, run through the real pipeline, are consistent: the note says so."""
    study = make_study(("stale-lockfiles",), trials=1)
    forged = make(tmp_path / "forged", study, reply=lambda task, cell: task.wrong[cell.shell][0])
    report = verify_archive(archived(forged, tmp_path / "out"))
    assert report.exit_code == 0 and "no archive can prove that its answers" in report.lines()[-2]
    assert report.sha256 != sha256(small_archive.read_bytes())


def test_verify_compares_record_hash(small_archive, tmp_path, capsys):
    record_ = write_decision(small_archive, "Which", tmp_path)
    assert commands.verify(small_archive, record_) == 0
    (tmp_path / "x").mkdir()
    other = rewritten(small_archive, tmp_path / "x", flip("results/made-up/report.md"))
    assert commands.verify(other) == 0 and commands.verify(other, record_) == 1
    assert "it is not the archive that" in capsys.readouterr().out
