"""Records that contradict themselves or the study, and files left out, end in 1, whatever hashes fit."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fluency.archive import verify
from fluency.archive.code_hashes import code_hashes
from fluency.archive.findings import Finding, VerifyReport
from fluency.archive.manifest import Manifest
from fluency.common.canonical import canonical_json
from fluency.common.files import pretty_json, sha256
from tests.archive.factory import archived, make, make_study, reply_of
from tests.archive.hostile import Change, drop, find, put, record, text, verify_forged

CELL = "qwen-0.5b/bash/stale-lockfiles/1"
GENERATION, EXECUTION = (f"results/{stage}/{CELL}.json" for stage in ("generations", "executions"))
CONFIG = "config/made-up.yaml"


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


def no_sandbox(files: dict[str, bytes]) -> None:
    for name in [name for name in files if name.startswith("sandbox/")]:
        del files[name]


FORGERIES: dict[str, tuple[tuple[Change, ...], str, str]] = {
    "answer after the day": ((answer("received_utc", value="2026-11-23T00:00:00Z"),), GENERATION, "after the archive's day"),
    "answer by another server": ((answer("server", value="evil.example"),), GENERATION, "another server than the model's"),
    "answer without an attempt": ((answer("attempts", value=0),), GENERATION, "is negative or infinite"),
    "negative latency": ((answer("latency_s", value=-1.0),), GENERATION, "is negative or infinite"),
    "negative tokens": ((answer("usage", "output_tokens", value=-30),), GENERATION, "is negative or infinite"),
    "execution before its answer": (
        (record(EXECUTION, put("provenance", "utc", value="2026-11-21T01:03:04Z")),), EXECUTION, "before its answer came"),
    "execution after the day": (
        (record(EXECUTION, put("provenance", "utc", value="2026-11-23T00:00:01+00:00")),), EXECUTION, "after the archive's day"),
    "no attempt": ((record(EXECUTION, put("attempts", value=-1)),), EXECUTION, "ran without an attempt"),
    "negative time": ((record(EXECUTION, run("wall_s", value=-0.25)),), EXECUTION, "is negative or infinite"),
    "no byte": ((record(EXECUTION, run("stdout", "bytes", value=0)),), EXECUTION, "size of an output"),
    "cut and whole": ((record(EXECUTION, run("stderr", "truncated", value=True)),), EXECUTION, "size of an output"),
    "stopped in time": ((record(EXECUTION, run("timed_out", value=True)),), EXECUTION, "before its deadline"),
    "ended twice": ((record(EXECUTION, run("signal", value=9)),), EXECUTION, "it ended twice"),
    "image left out": (
        (drop("results/image.json"), no_sandbox, record(EXECUTION, put("image", "image_id", value="sha256:0"))),
        "results/image.json", "does not hold it"),
    "sandbox left out": ((no_sandbox,), "sandbox", "are not those the image was built from"),
    "prices left out": ((drop("prices/policies.yaml"),), "prices/policies.yaml", "does not hold it"),
    "config left out": ((drop(CONFIG),), CONFIG, "does not hold it"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_contradiction_ends_in_1(name, small_archive, tmp_path):
    changes, where, what = FORGERIES[name]
    report = verify_forged(small_archive, tmp_path, *changes)
    assert any(p.where == where and what in p.what for p in report.problems), report.problems
    assert report.exit_code == 1


@pytest.mark.parametrize(("key", "value"), [("trials", 50), ("order_seed", 1)])
def test_a_configuration_that_contradicts_the_study_ends_in_1(
    key, value, small_archive, tmp_path, monkeypatch
):
    """By other code too, whose defaults may be others."""
    change = record(CONFIG, put(key, value=value))
    said = ("study.json", f"it is not the study that config.yaml, {CONFIG} give")
    assert said in {
        (p.where, p.what) for p in verify_forged(small_archive, tmp_path, change).problems
    }
    monkeypatch.setattr(verify, "code_hashes", lambda: dict.fromkeys(code_hashes(), "another"))
    assert said in {
        (p.where, p.what) for p in verify_forged(small_archive, tmp_path, change).problems
    }


def test_the_order_of_the_files_counts_and_what_confirms_does_not(small_archive, tmp_path):
    confirmed = verify_forged(
        small_archive, tmp_path, record(CONFIG, lambda values: values.update(confirm="yes"))
    )
    assert not [problem for problem in confirmed.problems if problem.where == "study.json"]
    other_order = verify_forged(small_archive, tmp_path, config=[CONFIG, "config.yaml"])
    assert "it is not the study" in str(other_order.problems) and other_order.exit_code == 1
    unnamed = verify_forged(small_archive, tmp_path, config=[CONFIG])
    assert "its configuration files are not the archive's" in str(unnamed.problems)


DOCUMENTS = (
    "study.json", "worlds/index.json", "results/image.json", "results/made-up/provenance.json", EXECUTION, GENERATION,
)  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_key_that_is_given_twice_is_refused(name, small_archive, tmp_path):
    def twice(files: dict[str, bytes]) -> None:
        data = files[find(files, name)]
        key = data.split(b'"')[1]
        files[find(files, name)] = data.replace(b"{", b'{"%b": 0,' % key, 1)

    report = verify_forged(small_archive, tmp_path, twice)
    assert (
        any(p.where == name and "duplicate key" in p.what for p in report.problems)
        and report.exit_code == 1
    )


def test_a_reply_longer_than_a_field_of_csv_is_verified_by_other_code_too(tmp_path, monkeypatch):
    made = make(
        tmp_path,
        make_study(("stale-lockfiles",), trials=1),
        reply=lambda task, cell: reply_of(task, cell) + f" # {'x' * 140_000}",
    )
    path = archived(made, tmp_path / "out")
    monkeypatch.setattr(
        verify, "code_hashes", lambda: code_hashes() | {"gather": "another", "report": "another"}
    )
    (tmp_path / "a").mkdir()
    worded = verify_forged(
        path, tmp_path / "a", text("results/made-up/cells.csv", ",unix-only,", ",mixed,")
    )
    assert (worded.problems, worded.exit_code) == ([], 3)


def report(problems: Sequence[Finding] = (), unproven: Sequence[Finding] = ()) -> VerifyReport:
    manifest = Manifest.model_construct()
    return VerifyReport(
        Path("x"), "0" * 64, manifest, problems=list(problems), unproven=list(unproven)
    )


@pytest.mark.parametrize("aspect", ["evidence", "scores", "wording"])
def test_a_contradiction_weighs_more_than_what_is_unproven(aspect) -> None:
    found = Finding("cells.csv", "it differs", aspect)
    assert (report().exit_code, report().verdict(aspect)) == (0, "proven")
    assert (report(unproven=[found]).exit_code, report(unproven=[found]).verdict(aspect)) == (
        3,
        "unproven",
    )
    both = report([found], [found])
    assert (both.exit_code, both.verdict(aspect), both.ok) == (1, "altered", False)


def test_what_cannot_be_told_is_said_once():
    """And once more where it is allowed and worth knowing, in whatever order the two come."""
    for first, second in (("add_unproven", "note"), ("note", "add_unproven")):
        found = report()
        for kind in (first, first, second, second):
            found.add_unproven("x", "it", "files") if kind == "add_unproven" else found.add_note(
                "x", "it"
            )
        assert (len(found.unproven), len(found.notes)) == (1, 1)
