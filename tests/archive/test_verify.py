"""Verification finds every altered byte and names it, also when the attacker has made the manifest fit again."""

import json
import re
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fluency.archive import commands, verify
from fluency.archive.code_hashes import code_hashes, environment
from fluency.archive.findings import Finding, VerifyReport
from fluency.archive.manifest import MANIFEST_NAME
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive
from fluency.common.canonical import canonical_json
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import pretty_json, sha256
from fluency.common.git import git_state, in_history
from fluency.common.paths import ROOT
from fluency.core.schema import SCHEMA_VERSION
from tests.archive.factory import archived, make, make_study, products
from tests.archive.hostile import (
    Change,
    contents,
    drop,
    flip,
    ours,
    put,
    record,
    replace_file,
    rewritten,
    text,
    verify_forged,
)

EXAMPLES = "a2e9e2164007b38b63221828b4317e40c6f35c91"
"""The commit that made the example."""
CELL = "qwen-0.5b/pwsh/stale-lockfiles/1"


@pytest.fixture
def offline(monkeypatch):
    """No network, no key, no engine: whoever reaches for one fails the test."""

    def refuse(*_, **__):
        raise AssertionError("verification reached out of the archive")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent")


@pytest.fixture(scope="module")
def sound(archive) -> VerifyReport:
    return verify_archive(archive)


def test_a_sound_archive_is_proven_offline(archive, offline):
    report = verify_archive(archive)
    assert (report.problems, report.unproven, len(report.notes)) == ([], [], 1)
    assert (
        report.proven
        and report.lines()[-1] == "PROVEN. Every hash, every link and every rebuilt file fits."
    )
    assert report.exit_code == 0 and report.sha256 == sha256(archive.read_bytes())
    profile = {
        f"sandbox/seccomp/{name}"
        for name in ("LICENSE", "moby-default.json", "profile.json", "reductions.yaml")
    }
    assert (
        set(report.unchecked_files) - {"sandbox/README.md"}
        == {"README.md", "ro-crate-metadata.json", "logs/run.log"} | profile
    )
    assert report.checked["scores"] == 8 and report.checked["hashes"] == len(contents(archive))
    products = {name for name in contents(archive) if name.startswith("results/made-up/")}
    assert (
        report.checked["products"] == len(products) - 2
        and report.checked["table"] == 1
        and any(name.endswith(".svg") for name in products)
    )


# ---------------------------------------------------------------- changes


def reseal(files: dict[str, bytes]) -> None:
    """Another text in a stored answer, with its inner hash made to fit."""
    name = f"answers/{key_of(files)[:2]}/{key_of(files)}.json"
    value = json.loads(files[name])
    value["answer"]["text"] = value["answer"]["raw"]["choices"][0]["message"]["content"] = (
        "Get-ChildItem"
    )
    value["sha256"] = sha256(canonical_json(value["answer"]))
    files[name] = pretty_json(value).encode()


def key_of(files: dict[str, bytes]) -> str:
    return json.loads(files[f"results/generations/{CELL}.json"])["answer"]["request_key"]


def swap(files: dict[str, bytes]) -> None:
    """Two trials of a cell change places, all of their records."""
    for stage in ("generations", "executions", "scores"):
        one, two = (f"results/{stage}/{CELL[:-1]}{trial}.json" for trial in (1, 2))
        files[one], files[two] = files[two], files[one]


GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/{CELL}.json" for stage in ("generations", "executions", "scores")
)
PROVENANCE, TABLE = (f"results/made-up/{name}" for name in ("provenance.json", "cells.csv"))
WORLD = r"worlds/11-.*/"
# kind of file or link -> (change, what a verification names when the manifest fits again)
DERIVABLE: dict[str, tuple[Change, str]] = {
    "study": (text("study.json", '"trials": 2', '"trials": 1'), "study.json"),
    "task prompt": (text("tasks/stale-lockfiles/task.yaml", "in any order", "in my order"), "results/generations/.*/stale-lockfiles"),
    "task answer": (text("tasks/stale-lockfiles/answer.py", "def", "#\ndef"), "tasks/stale-lockfiles"),
    "tree": (flip(WORLD + "tree.tar"), "worlds/11-"),
    "ages": (text(WORLD + "ages.json", "1", "2"), "worlds/11-"),
    "service": (text(WORLD + "service.json", "200", "201"), "worlds/11-"),
    "processes": (text(WORLD + "processes.json", '"rss_mb": ', '"rss_mb": 1'), "worlds/11-"),
    "world name": (text(WORLD + "world.json", '"seed": 11', '"seed": 13'), "worlds/11-"),
    "world index": (text("worlds/index.json", "/11-", "/24-"), "worlds/index.json"),
    "answer": (text("answers/.*", "crates", "cretas"), "answers/"),
    "answer resealed": (reseal, GENERATION),
    "answer dropped": (drop("answers/.*"), "answers/"),
    "generation text": (record(GENERATION, put("answer", "text", value="true")), GENERATION),
    "generation raw": (record(GENERATION, put("answer", "raw", "choices", 0, "finish_reason", value="length")), GENERATION),
    "generation request": (record(GENERATION, put("answer", "request", "temperature", value=0.1)), GENERATION),
    "generation cost": (record(GENERATION, put("cost_usd", value=1.0)), GENERATION),
    "generation dropped": (drop(GENERATION), CELL),
    "execution command": (record(EXECUTION, put("extraction", "strict", value="true")), EXECUTION),
    "execution output": (record(EXECUTION, put("runs", 0, "result", "stdout", "data", value="")), SCORE),
    "execution exit": (record(EXECUTION, put("runs", 1, "result", "exit_code", value=1)), SCORE),
    "execution world": (record(EXECUTION, put("runs", 0, "world_sha256", value="0" * 64)), EXECUTION),
    "execution image": (record(EXECUTION, put("image", "shells", "pwsh", value="7.4.0")), EXECUTION),
    "execution limits": (record(EXECUTION, put("timeout_s", value=600.0)), EXECUTION),
    "execution runs": (record(EXECUTION, lambda value: value["runs"].pop()), EXECUTION),
    "execution schema": (record(EXECUTION, put("schema_version", value=SCHEMA_VERSION + 1)), EXECUTION),
    "execution peak": (record(EXECUTION, put("runs", 0, "result", "used", "peak_memory_bytes", value=1 << 40)), "cells.csv"),
    "score passed": (record(SCORE, put("passed", value=False)), SCORE),
    "score why": (record(SCORE, put("why", value="Because.")), SCORE),
    "score provenance": (record(SCORE, put("provenance", "code_sha256", value="0" * 64)), SCORE),
    "cells swapped": (swap, CELL),
    "table": (text(TABLE, "True", "False"), "results/made-up/cells.csv"),
    "provenance": (text(PROVENANCE, '"answers": 8', '"answers": 9'), "provenance.json"),
    "first answer": (record(PROVENANCE, put("first_answer_utc", value="2026-12-22T01:02:03Z")), "`first_answer_utc` is not what the records say"),
    "report": (flip("results/made-up/report.md"), "report.md"),
    "report dropped": (drop("results/made-up/report.md"), "report.md"),
    "figure": (flip(r"results/made-up/figures/.*svg"), "figures/"),
    "explorer": (flip("results/made-up/explorer.html"), "explorer.html"),
    "image manifest": (text("results/image.json", "7.6.5", "7.4.0"), "results/executions"),
    "sandbox source": (flip("sandbox/runner.py"), "sandbox"),
    "config": (flip("config.yaml"), "config.yaml"),
    "lock": (flip("envs/requirements.lock"), "envs/requirements.lock"),
    "prices": (text("prices/policies.yaml", "1", "2"), "prices/policies.yaml"),
    "registration": (text("preregistrations/.*", '"trials": 2', '"trials": 3'), "preregistrations/"),
}  # fmt: skip
STRAYS = (
    "results/made-up/second.md", "results/made-up/figures/more.svg", "results/other/report.md", "config/other.yaml",
    "preregistrations/another.json", "envs/dev.lock", "evil.txt",
    "worlds/99-0/tree.tar", "answers/00/0.json", "results/scores/qwen-0.5b/bash/stale-lockfiles/9.json",
)  # fmt: skip


def test_every_altered_file_is_named_by_its_hash(archive, tmp_path):
    names = contents(archive).keys() - {MANIFEST_NAME}
    changes = [flip(re.escape(name)) for name in names]
    with unpacked(rewritten(archive, tmp_path, *changes, repair=False)) as found:
        assert {problem.where for problem in found.problems} == names


@pytest.mark.parametrize("kind", DERIVABLE)
def test_an_altered_file_is_found_with_the_manifest_repaired(kind, archive, tmp_path):
    """The chain, or the layer made anew from the one below, contradicts what was altered."""
    change, wanted = DERIVABLE[kind]
    report = verify_forged(archive, tmp_path, change)
    found = [str(problem) for problem in [*report.problems, *report.unproven]]
    assert any(re.search(wanted, problem) for problem in found), found
    assert not report.proven
    if report.problems:
        assert "ALTERED" in report.lines()[-1] and report.exit_code == 1
    else:
        assert "UNPROVEN" in report.lines()[-1] and report.exit_code == 3


def test_a_long_list_says_how_many_more_there_are(sound):
    for found, more in (
        (3, []),
        (4, ["PROBLEM … and 1 more"]),
        (1003, ["PROBLEM … and 1,000 more"]),
    ):
        problems = [Finding(f"file {number}", "it was altered") for number in range(found)]
        lines = [
            line
            for line in replace(sound, problems=problems).lines(3)
            if line.startswith("PROBLEM")
        ]
        assert lines == [*(f"PROBLEM {problem}" for problem in problems[:3]), *more]


def test_what_only_its_hash_vouches_for_is_said(archive, tmp_path):
    names = ("README.md", "ro-crate-metadata.json", "logs/run.log")
    report = verify_forged(archive, tmp_path, *map(flip, names))
    assert (
        report.ok
        and {*names} <= {*report.unchecked_files}
        and report.sha256 != sha256(archive.read_bytes())
    )


def test_a_file_that_nothing_names_is_an_error(archive, tmp_path):
    report = verify_forged(
        archive, tmp_path, lambda files: files.update(dict.fromkeys(STRAYS, b"trials: 3\n"))
    )
    assert (
        sorted(problem.where for problem in report.problems) == sorted(STRAYS)
        and report.exit_code == 1
    )


@pytest.mark.parametrize("verbose", [False, True])
def test_opening_a_proven_archive_prints_the_whole_verification_where_asked(
    verbose, archive, tmp_path, capsys
):
    assert commands.open_archive(archive, tmp_path / "opened", verbose=verbose, show=False) == 0
    printed = capsys.readouterr().out
    assert ("SHA-256" in printed) == verbose and "PROVEN" in printed and "explorer.html" in printed


def test_an_archives_words_cannot_steer_the_terminal(archive, tmp_path, capsys):
    change = record(SCORE, put("why", value="\u202e\u200b\x9b2J fine"))
    assert commands.verify(rewritten(archive, tmp_path, change)) == 1
    printed = "".join(capsys.readouterr())
    assert "fine" in printed and not set(printed) & {"\u202e", "\u200b", "\x9b"}


FORMS = {
    "commit": ("\x1b[2J", "HEAD", "`c`", "c" * 41, ""),
    "utc_date": ("2026-02-30", "2026-11-22\n", "today", "2026-1-1"),
    "study": ("../up", "A", "a\n"),
    "study_sha256": ("", "0" * 63, "g" * 64),
    "made_by": ("<b>", "\x1b"),
    "code": ({"score": "x"}, {"a b": "0" * 64}),
    "environment": ({"python": "3 <b>"}, {"\x1b": "1"}),
    "missing": (["../a/b/c"], ["a"]),
    "cells": (-1,),
    "schema_version": (0,),
}


@pytest.mark.parametrize("key", FORMS)
def test_a_field_that_has_a_form_is_refused_without_it(key, tmp_path):
    for value in FORMS[key]:
        with (
            pytest.raises(ArchiveError, match="it does not fit the schema") as error,
            unpacked(ours({}, tmp_path / "x", **{key: value})),
        ):
            pass
        assert key in str(error.value) and "\x1b" not in str(error.value)


def test_what_nothing_proves_is_listed(sound, archive, tmp_path):
    lines = sound.lines()
    (unchecked,) = (line for line in lines if line.startswith("checked by hash only: "))
    assert unchecked.startswith(
        "checked by hash only: README.md, logs/ (1), ro-crate-metadata.json, sandbox/ ("
    )
    stated = next(line for line in lines if line.startswith("stated, and proven by nothing: "))
    assert "no uncommitted change" in stated and "libraries" in stated and "version 0" in stated
    lying = verify_forged(archive, tmp_path, image_included=True)
    assert "`image_included` is not what the archive holds" in str(lying.problems)


def test_an_exploratory_study_cannot_be_made_to_look_registered(tmp_path):
    study = make(tmp_path / "s", make_study(("stale-lockfiles",), trials=1))
    path = archived(study, tmp_path / "out")
    for edit in (
        put("registration", value={"path": "preregistrations/a.json", "sha256": "ab" * 32}),
        put("deviations", value=["none worth telling"]),
    ):
        report = verify_forged(path, tmp_path, record(PROVENANCE, edit))
        assert f"{PROVENANCE}: it names a registration, the study none" in map(str, report.problems)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("path", "preregistrations/other.json"), ("sha256", "0" * 64), ("utc", "2026-10-01T00:00:00Z"),
        ("commit", "0" * 40), ("dirty", None),
    ],
)  # fmt: skip
def test_whatever_is_said_of_a_registration_stands_in_it(
    key, value, small_archive, tmp_path, other_code
):
    """Also by other code: these are copies, not words."""
    other_code("gather", "report")
    report = verify_forged(
        small_archive, tmp_path, record(PROVENANCE, put("registration", key, value=value))
    )
    assert [p.where for p in report.problems] == ["preregistrations/made-up-2026-11-01.json"]


def test_a_study_forged_as_a_whole_verifies_and_only_the_hash_betrays_it(tmp_path, archive):
    """The limit of the matter: answers that were never given, run through the real pipeline, are consistent."""
    study = make_study(("stale-lockfiles",), trials=1)
    forged = make(tmp_path / "forged", study, reply=lambda task, cell: task.wrong[cell.shell][0])
    report = verify_archive(archived(forged, tmp_path / "out"))
    assert report.proven and report.sha256 != sha256(archive.read_bytes())


def test_the_archives_code_is_never_run(archive, tmp_path):
    """A task with other code than this checkout's is read as data; its judgement stays unproven."""
    trap = tmp_path / "sprung"
    evil = f"open({str(trap)!r}, 'w').close()\n".encode()

    def change(files: dict[str, bytes]) -> None:
        name = "tasks/stale-lockfiles/answer.py"
        files[name] = evil + files[name]
        files["tasks/stale-lockfiles/fixture.py"] = evil + b"def extend(builder, rng): pass\n"

    report = verify_forged(archive, tmp_path, change)
    assert not trap.exists()
    assert not report.proven and any(
        "its code was not run" in problem.what for problem in report.unproven
    )
    assert report.checked["scores"] == 4 and report.not_rescored == {"stale-lockfiles": 4}
    said = "4 of 8 scores could not be judged by this checkout: those of stale-lockfiles."
    assert said in replace(report, problems=[]).lines()[-1]
    told = "\n".join(report.lines(1000)).replace("the prompt is the same", "")
    assert "judged by an earlier version of the task" in told and "the same" not in told


def test_a_task_file_that_would_unfold_without_end_is_refused(small_archive, tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    change = replace_file("tasks/stale-lockfiles/task.yaml", "\n".join(lines).encode())
    report = verify_forged(small_archive, tmp_path, change)
    assert any(
        "its aliases nest deeper than 12 levels" in problem.what for problem in report.problems
    )


@pytest.fixture
def other_code(monkeypatch) -> Callable[..., None]:
    """Let this checkout's code of some stages be another than the archive's."""

    def change(*stages: str) -> None:
        monkeypatch.setattr(
            verify, "code_hashes", lambda: code_hashes() | dict.fromkeys(stages, "another")
        )

    return change


def verdicts(report: VerifyReport) -> tuple[str, str, str]:
    return report.verdict("evidence"), report.verdict("scores"), report.verdict("wording")


def test_other_code_that_words_a_score_otherwise_leaves_its_judgement_proven(
    small_archive, tmp_path, other_code
):
    """A later version with other classes and reasons does not call an honest archive forged, nor its scores doubtful."""
    other_code("score")
    assert verify_archive(small_archive).proven, (
        "what comes out the same is proven, by whatever code"
    )
    edits = (
        put("why", value="Because."),
        put("failure_class", value="silent-wrong"),
        put("worlds", 0, "why", value=""),
    )
    for edit in edits:
        report = verify_forged(small_archive, tmp_path, record(SCORE, edit))
        assert SCORE not in {p.where for p in report.problems} and report.checked["scores"] == 2
        assert [(p.where, p.aspect) for p in report.unproven] == [(SCORE, "wording")]


def test_what_this_code_would_have_written_must_stand_in_the_provenance(
    small_archive, tmp_path, other_code
):
    """Older code did not write every field; today's archive may leave none out."""
    less = record(PROVENANCE, lambda document: document.pop("limits"))
    forged = rewritten(small_archive, tmp_path, less)
    assert "`limits` is not what the records say" in str(verify_archive(forged).problems)
    other_code("gather")
    assert "`limits`" not in str(verify_archive(forged).problems)


def test_a_score_that_cannot_be_made_is_no_score_that_fits(small_archive, monkeypatch):
    def fails(*args, **kwargs):
        raise UserError("no world of this seed", hint="none")

    monkeypatch.setattr("fluency.archive.rebuild.score_cell", fails)
    report = verify_archive(small_archive)
    assert "it cannot be rescored: no world of this seed" in str(report.problems)
    assert report.verdict("scores") == "altered"


JUDGED = {name: put(name, value=False) for name in ("passed", "structural_pass", "lenient_passed")}
JUDGED |= {"world": put("worlds", 0, "passed", value=False)}


@pytest.mark.parametrize("edit", JUDGED)
def test_a_judgement_that_other_code_does_not_reproduce_is_never_called_proven(
    edit, small_archive, tmp_path, other_code
):
    forged = rewritten(small_archive, tmp_path, record(SCORE, JUDGED[edit]))
    same = verify_archive(forged)
    assert (same.verdict("scores"), same.exit_code) == ("altered", 1)
    other_code("score", "gather", "report")
    report = verify_archive(forged)
    assert (SCORE, "scores") in {(p.where, p.aspect) for p in [*report.problems, *report.unproven]}
    assert report.verdict("scores") != "proven" and report.exit_code in (1, 3)


def forge_whole(files: dict[str, bytes]) -> None:
    """A score that says passed where it failed, and the table with it."""
    cell = CELL[:-1] + "2"
    record(f"results/scores/{cell}.json", put("passed", value=True))(files)
    table = files[TABLE]
    row = next(
        line for line in table.splitlines() if line.startswith(cell.replace("/", ",").encode())
    )
    forged = row.replace(b"measured,,False", b"measured,,True", 1)
    assert forged != row
    files[TABLE] = table.replace(row, forged)


def test_forged_scores_with_altered_code_hashes_are_not_reproduced(archive, tmp_path, monkeypatch):
    """Code hashes can be forged too: then this checkout cannot tell, says so, and never that all is well."""
    forged = rewritten(archive, tmp_path, forge_whole, code=dict.fromkeys(code_hashes(), "f" * 64))
    report = verify_archive(forged)
    assert verdicts(report) == ("proven", "unproven", "unproven") and report.exit_code == 3
    assert (
        "scores not reproduced" in report.lines()[-1]
        and "passed: false, archived true" in report.lines()[-1]
    )
    assert "agrees" not in "\n".join(report.lines())
    monkeypatch.setattr(verify, "export", export_present)
    there = verify_archive(forged)
    assert there.exit_code == 1 and "is not that of its commit 0123456789abcdef" in str(
        there.problems
    )


def export_present(commit: str, folder: Path) -> bool:
    """Stands where git stands: every commit is what is checked out, committed or not."""
    for name in ("scripts/fluency", "sandbox", "report"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "tasks", folder / "tasks", ignore=lambda _, names: {n for n in names if "." not in n}
    )
    return True


@pytest.mark.parametrize(
    ("facts", "code"),
    [({}, 0), ({"code": {}}, 1), ({"code": {}, "dirty": True}, 0)],
    ids=["its own", "none", "dirty"],
)
def test_the_stated_code_is_compared_with_that_of_its_commit(
    facts, code, small_archive, tmp_path, monkeypatch
):
    monkeypatch.setattr(verify, "export", export_present)
    report = verify_forged(small_archive, tmp_path, **facts)
    assert report.exit_code == code and report.notes == []


def test_a_known_commit_of_other_code_ends_in_1_and_an_unknown_one_is_a_note(
    sound, small_archive, tmp_path
):
    """With the hashes of the present code."""
    assert sound.proven and "git does not know commit 0123456789abcdef" in str(sound.notes[0])
    if not in_history(EXAMPLES):
        pytest.skip("git does not know the commit of the example")
    known = verify_forged(small_archive, tmp_path, commit=EXAMPLES)
    assert known.exit_code == 1
    assert f"the code it states for `score` is not that of its commit {EXAMPLES}" in str(
        known.problems
    )


def test_code_made_with_other_libraries_is_held_to_those_it_states(
    small_archive, tmp_path, monkeypatch
):
    """The same commit with another version of a library is no forgery: the stated versions give the stated hashes."""
    monkeypatch.setattr(verify, "export", export_present)
    versions = environment() | {"pandas": "0.0.1"}
    facts = {"environment": versions, "code": code_hashes(versions)}
    report = verify_forged(small_archive, tmp_path, **facts)
    assert report.problems == [] and facts["code"] != code_hashes()
    lies = facts | {"environment": environment()}
    assert verify_forged(small_archive, tmp_path, **lies).exit_code == 1


def test_a_table_by_other_code_may_word_otherwise_and_not_count_otherwise(
    small_archive, tmp_path, other_code
):
    other_code("gather", "report")
    for old, new, aspect, weight in (
        (",unix-only,", ",mixed,", "wording", 3),
        (",0.25,", ",0.75,", "scores", 3),
        ("measured,,True", "measured,,False", "scores", 1),
    ):
        report = verify_forged(small_archive, tmp_path, text(TABLE, old, new))
        found = report.problems if weight == 1 else report.unproven
        assert (TABLE, aspect) in {
            (p.where, p.aspect) for p in found
        } and report.exit_code == weight


def test_a_task_with_another_text_and_the_same_check_is_judged_anew(archive, tmp_path):
    """Its code is this checkout's, so it may run; that its text is not is said."""
    change = text(
        "tasks/stale-lockfiles/task.yaml", "fairness: >-\n", "fairness: >-\n  Now fairer.\n"
    )
    report = verify_forged(archive, tmp_path, change)
    assert report.checked["scores"] == 8
    assert ("tasks/stale-lockfiles", "evidence") in {(p.where, p.aspect) for p in report.unproven}


def test_a_task_with_another_check_is_not_judged_anew(archive, tmp_path):
    found = contents(archive)["tasks/stale-lockfiles/task.yaml"].decode()
    line = next(line for line in found.splitlines() if "line: " in line)
    change = text(
        "tasks/stale-lockfiles/task.yaml", line, line.split("line: ")[0] + "line: '(a+)+$'"
    )
    report = verify_forged(archive, tmp_path, change)
    assert report.checked["scores"] == 4
    assert ("tasks/stale-lockfiles", "scores") in {(p.where, p.aspect) for p in report.unproven}


def test_the_next_step_is_a_checkout_of_the_commit_that_made_it(small, sound, tmp_path):
    assert "not in this checkout's history" in commands.next_step(sound)
    commit, dirty = git_state()
    if commit is None:
        pytest.skip("there is no git here")
    here = archived(small, tmp_path, commit=commit)
    step = commands.next_step(verify_archive(here))
    assert dirty or step.endswith(
        f"git worktree add --detach ../at-{commit[:12]} {commit} && make -C ../at-{commit[:12]} verify ARCHIVE={here}"
    )


# ---------------------------------------------------------------- making


def test_the_same_study_gives_the_same_bytes(made, archive, tmp_path):
    again = archived(made, tmp_path, logs={"logs/run.log": made.root / "run.log"})
    assert again.name == archive.name == "made-up-2026-11-22-0123456789ab.tar.zst"
    assert again.read_bytes() == archive.read_bytes()


def test_it_holds_all_that_a_reader_needs(archive):
    names = set(contents(archive))
    for wanted in ("results/made-up/report.md", "results/made-up/explorer.html", "envs/requirements.lock", "sandbox/Dockerfile",
                   "results/image.json", "prices/policies.yaml", "study.json", "config.yaml", "tasks/stale-lockfiles/answer.py"):  # fmt: skip
        assert wanted in names
    assert len([name for name in names if name.startswith("answers/")]) == 8


def test_an_incomplete_study_is_refused_unless_it_says_so(tmp_path):
    study = make(tmp_path / "s", make_study(("stale-lockfiles",), trials=1))
    page = study.results / "made-up" / "report.md"
    kept = page.read_bytes()
    page.unlink()
    with pytest.raises(UserError, match=r"report\.md has not been made"):
        archived(study, tmp_path / "out")
    page.write_bytes(kept)
    cell = "qwen-0.5b/bash/stale-lockfiles/1"
    (study.results / f"scores/{cell}.json").unlink()
    with pytest.raises(UserError, match="1 of 2 cells are missing") as error:
        archived(study, tmp_path / "out")
    assert cell in str(error.value) and "PARTIAL=1" in str(error.value)
    with pytest.raises(UserError, match="the table does not say what the records say"):
        archived(study, tmp_path / "out", partial=True)
    products(study)
    path = archived(study, tmp_path / "out", partial=True)
    assert path.name == "made-up-2026-11-22-0123456789ab-partial.tar.zst"
    report = verify_archive(path)
    assert (
        report.ok
        and report.manifest.missing == [cell]
        and "PARTIAL: 1 of 2 cells are missing" in report.lines()
    )
    next(study.answers.glob("??/*.json")).unlink()
    with pytest.raises(UserError, match="lost this cell's answer"):
        archived(study, tmp_path / "out", partial=True)


def test_an_archive_made_without_git_says_so(made, tmp_path, monkeypatch, capsys):
    places = {
        "RESULTS": made.results,
        "ANSWERS": made.answers,
        "ARCHIVES": tmp_path,
        "ROOT": tmp_path,
    }
    for name, place in places.items():
        monkeypatch.setattr(commands, name, place)
    monkeypatch.setattr(commands, "git_state", lambda: (None, None))
    loaded = SimpleNamespace(
        study=made.study, tasks=made.tasks, cells=made.cells, files=made.config(), view=made.view
    )
    assert (
        "-nocommit" in commands.pack_study(loaded).name
        and "named `nocommit`" in capsys.readouterr().err
    )


def test_the_image_goes_in_when_asked(made, tmp_path):
    def save(image_id: str, path) -> None:
        path.write_bytes(image_id.encode() * 1000)

    report = verify_archive(archived(made, tmp_path, save_image=save))
    assert (
        report.ok and report.manifest.image_included and "image/image.tar" in report.unchecked_files
    )
    (tmp_path / "results").mkdir()
    bare = replace(made, root=tmp_path)
    with pytest.raises(UserError, match="no image to save"):
        archived(bare, tmp_path, partial=True, save_image=save)
