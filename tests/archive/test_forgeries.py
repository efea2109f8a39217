"""Forgeries whose manifest fits again, and what a verification says of each in five checkouts."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fluency.archive import pack, verify
from fluency.archive.decision import write_decision
from fluency.archive.playback import FIELDS
from fluency.archive.replay import replay_archive
from fluency.archive.verify import verify_archive
from fluency.common.canonical import with_self_hash
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.common.git import git_state
from fluency.core.records import Request
from fluency.core.schema import RECORD_SCHEMA
from fluency.core.task_world import world_for
from fluency.execution.image_content import SOURCES, content_sha256
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import (
    drop,
    flip,
    put,
    record,
    replace_file,
    rewritten,
    text,
    verify_forged,
)
from tests.programs import completed

CELL = "qwen-0.5b/bash/stale-lockfiles/1"
GENERATION, EXECUTION, SCORE = (
    f"results/{stage}/{CELL}.json" for stage in ("generations", "executions", "scores")
)
CONTROL, IMAGE, REGISTRATION = (
    "results/made-up/control.json",
    "results/images/bash.json",
    "preregistrations/.*",
)
TASK = "tasks/stale-lockfiles"
WORLD = r"worlds/11-.*/"


def execution(*keys, value):
    return record(EXECUTION, put(*keys, value=value))


def result(*keys, value):
    return execution("runs", 0, "result", *keys, value=value)


def answer(*keys, value):
    return record(GENERATION, put("answer", *keys, value=value))


def ran(utc):
    return execution("provenance", "utc", value=utc)


def added(name, data=b"x"):
    return lambda files: files.update({name: data})


def tasks_left_out(files):
    """Every file of a task, and its name in the study."""
    left = "fetch-top-crates"
    record("study.json", lambda value: value["tasks"].remove(left))(files)
    index = json.loads(files["worlds/index.json"])
    own, others = index.pop(left), [folder for task in index.values() for folder in task.values()]
    record("worlds/index.json", lambda value: value.pop(left))(files)
    folders = "|".join({*own.values()} - {*others} or {"x"})
    drop(f"tasks/{left}/.*|results/.*/{left}/.*|({folders})/.*")(files)


def several(*changes):
    def change(files):
        for one in changes:
            one(files)

    return change


def swap(files):
    """The records of the two shells change places."""
    for one in (GENERATION, EXECUTION, SCORE):
        two = one.replace("bash", "pwsh")
        files[one], files[two] = files[two], files[one]


def asked_otherwise(**fields):
    """Every request is another, its key fits, and so do the records after it."""

    def edit(value):
        asked = value["answer"]["request"]
        for name, new in fields.items():
            asked[name] = new(asked[name]) if callable(new) else new
        value["answer"]["request_key"] = Request.model_validate(asked).key

    def change(files):
        record("results/generations/.*", edit)(files)
        for name in [name for name in files if name.startswith("results/generations/")]:
            key = json.loads(files[name])["answer"]["request_key"]
            for stage in ("executions", "scores"):
                fits = re.escape(name.replace("generations", stage))
                record(fits, lambda value, key=key: value.update(request_key=key))(files)

    return change


def hinted(files):
    """The prompt has a hint, in the task and in every request."""
    text(f"{TASK}/task.yaml", "in any order", "in any order, by grep")(files)
    asked_otherwise(prompt=lambda old: old.replace("in any order", "in any order, by grep"))(files)


def pattern(files):
    """Another pattern, which takes for ever on a long line."""
    name = f"{TASK}/task.yaml"
    files[name] = re.sub(rb"line: .*", rb"line: '(a+)+$'", files[name], count=1)


def rigged(files):
    """The runner is another, and the image's hash, in each record, is of it."""
    files["sandbox/runner.py"] += b"# rigged\n"
    old = content_sha256(["bash"])
    with TemporaryDirectory() as folder:
        for name in SOURCES:
            (Path(folder) / name).write_bytes(files[f"sandbox/{name}"])
        new = content_sha256(["bash"], Path(folder))
    for name, data in files.items():
        if name.startswith("results/"):
            files[name] = data.replace(old.encode(), new.encode())


def official(files):
    """PowerShell's archive is not the official release's, and every record says that it is."""
    given = {"archives": {"pwsh": "0" * 64}, "unofficial": []}
    record(
        "results/(images/pwsh.json|executions/.*/pwsh/.*)",
        lambda value: value["image"].update(given),
    )(files)


def failed(value):
    """A score that says that nothing passed, by a judge whose hash is invented."""
    value["provenance"]["code_sha256"] = "f" * 64
    for name, one in value.items():
        value[name] = False if one is True else one
    for world in value["worlds"]:
        world["passed"] = world["content"] = False


NO_BASE64 = {"data": "a", "bytes": 1, "encoding": "base64"}
READ = {"text": "Get-ChildItem", "outcome": "refusal", "stop_reason": "x", "model_echoed": "x"}
READ |= {"usage": {}}

# fmt: off
DIFFERENT = {
    # what is altered: the change, or the manifest's facts, and what is said
    "every score False, code hashes invented": (record("results/scores/.*", failed), "`passed` is"),
    "score": (record(SCORE, put("passed", value=False)), "`passed` is False, recomputed True"),
    "world's score": (record(SCORE, put("worlds", 0, "passed", value=False)), "`passed` is"),
    "numbers of a score": (record(SCORE, put("worlds", 0, "wall_s", value=9.0)), "`wall_s` is"),
    "reply that is not the raw message": (answer("text", value="Get-ChildItem"), "`text` is"),
    **{
        f"answer's {key}": (answer(key, value=value), f"`{key}` is")
        for key, value in READ.items()
    },
    "no message": (answer("raw", value={}), "the raw message is not an answer"),
    "prompts with a hint": (hinted, f"{TASK}: neither this checkout nor the commit"),
    "temperature 1.9 sent": (asked_otherwise(temperature=1.9), "`request` is"),
    "another model asked": (asked_otherwise(model_id="better"), "`request` is"),
    "another shell asked": (
        asked_otherwise(prompt=lambda old: old.replace("bash", "fish")), "`request` is"),
    "another trial": (asked_otherwise(trial=7), "`request` is"),
    "another wire": (asked_otherwise(wire="messages"), "`request` is"),
    "one message for two requests": (
        record("results/generations/.*", lambda value: value["answer"]["raw"].update(id="msg_1")),
        "the message msg_1 answers another request, too"),
    "request without its key": (answer("request", "temperature", value=0.1), "`request` is"),
    "sampling of the study": (
        record("study.json", lambda value: value["models"][0].update(max_tokens=9)), "`request` is"),
    "temperature": (
        record(GENERATION, put("temperature_requested", value=0.1)), "`temperature_requested` is"),
    "cost": (record(GENERATION, put("cost_usd", value=1.0)), "`cost_usd` is"),
    "task prompt": (text(f"{TASK}/task.yaml", "in any order", "in my order"), "prompt, check or"),
    "task pattern": (pattern, "prompt, check or commands differ"),
    "task content": (text(f"{TASK}/task.yaml", "content: set", "content: paths"), "prompt, check"),
    "task needs": (text(f"{TASK}/task.yaml", "content:", "needs: [http]\ncontent:"), "check or"),
    "task code": (text(f"{TASK}/answer.py", "def", "#\ndef"), "prompt, check or commands differ"),
    "code that is not text": (replace_file(f"{TASK}/answer.py", b"\xff"), "prompt, check or"),
    "task that is called private": ({"private_tasks": ["stale-lockfiles"]}, "is private is not"),
    "command": (execution("extraction", "strict", value="true"), "`extraction` is"),
    "output": (result("stdout", value={"data": "", "bytes": 0}), "`passed` is True, recomputed F"),
    "exit code": (result("exit_code", value=1), "`passed` is True, recomputed False"),
    "world of a run": (execution("runs", 0, "world_sha256", value="0" * 64), "`world_sha256` is"),
    "seed of a run": (execution("runs", 0, "seed", value=13), "`seed` is 13, recomputed 11"),
    "run left out": (record(EXECUTION, lambda value: value["runs"].pop()), "it lacks runs"),
    "shell that was there": (execution("not_measured", value="no shell"), "`not_measured` is"),
    "further key": (record(EXECUTION, lambda value: value["provenance"].update(x=1)), "`provenance` has other keys"),
    "control right in one world": (
        record(CONTROL, put("runs", 0, "results", "24", "exit_code", value=1)), "`passed` is True"),
    "control cut": (record(CONTROL, lambda value: value["runs"].pop()), "the tasks' first commands"),
    "another control command": (record(CONTROL, put("runs", 0, "command", value="x")), "`command`"),
    "sandbox left out": (drop("sandbox/README.md"), "sandbox/: neither this checkout nor"),
    "sandbox source left out": (drop("sandbox/runner.py"), "it was not built from the archived"),
    "file the sandbox lacks": (added("sandbox/more"), "sandbox/: neither this checkout nor"),
    "policies": (flip("prices/policies.yaml"), "policies.yaml: neither this checkout nor"),
    "lock file": (flip("envs/requirements.lock"), "requirements.lock: neither this checkout nor"),
    "lock file left out": (drop("envs/requirements.lock"), "requirements.lock: neither this"),
    "rigged sandbox": (rigged, "sandbox/: neither this checkout nor the stated commit"),
    "unofficial build called official": (official, "what is official in it"),
}
"""Refuted by the code of the stated commit; another code cannot tell."""
UNKNOWN = {
    "rigged sandbox, commit invented": (rigged, "sandbox/: neither this checkout nor"),
}
WORDED = {
    "reasons invented": (record(SCORE, put("why", value="Because.")), "`why` is 'Because.'"),
    "class of a failure": (record(SCORE, put("failure_class", value="timeout")), "`failure_class`"),
}
"""Allowed of another version of the code that git knows: pages show the recomputed ones."""
CONTRADICTORY = {
    "cells swapped": (swap, "`cell` is"),
    "a set with tasks left out": (
        record("study.json", put("tasks", value=["sql-files"])), "the archived tasks are not"),
    "another study": (record("study.json", put("study", value="other")), "it is not the study"),
    "table with PowerShell's verdicts False": (
        added("results/made-up/cells.csv"), "nothing in the study names it"),
    "a record of no cell": (added(SCORE.replace("/1.json", "/9.json")), "nothing in the study"),
    "an unnamed note": (added("results/made-up/notes.md"), "nothing in the study names it"),
    "registration": (text(REGISTRATION, '"trials": 1', '"trials": 3'), "edited after"),
    "registration left out": (drop(REGISTRATION), "the archive does not hold it"),
    "tree": (flip(WORLD + "tree.tar"), "worlds/11-"),
    "ages": (text(WORLD + "world.json", ": 1", ": 2"), "worlds/11-"),
    "service": (text(WORLD + "world.json", '"status": 200', '"status": 201'), "worlds/11-"),
    "processes": (text(WORLD + "world.json", '"rss_mb": ', '"rss_mb": 1'), "worlds/11-"),
    "key of a world": (record(WORLD + "world.json", lambda value: value.update(x=1)), "worlds/11-"),
    "world index": (
        record("worlds/index.json", lambda index: [one.update({"11": one["24"]})
            for one in index.values()]), "worlds/index.json: it does not name"),
    "key of the index": (record("worlds/index.json", lambda index: index.update(x=1)), "it does not name one"),
    "answer after the day": (answer("received_utc", value="2026-11-23T00:00:00Z"), "after the arch"),
    "answer without an attempt": (answer("attempts", value=0), "negative or infinite"),
    "answer before it was asked": (answer("latency_s", value=-1.0), "negative or infinite"),
    "answer of another server": (answer("server", value="x"), "its server is not the study's"),
    "generation left out": (drop(GENERATION), f"{CELL}: it has a record without"),
    "execution left out": (drop(EXECUTION), f"{CELL}: it has a record without"),
    "image of a cell": (execution("image", "shells", "bash", value="4.4.0"), "`image` is"),
    "engine of a cell": (execution("engine", "name", value="none"), "`engine` is"),
    "image left out": (drop(IMAGE), "the archive does not hold it"),
    "limits": (execution("timeout_s", value=600.0), "`timeout_s` is 600.0"),
    "memory": (execution("limits", "memory_mb", value=2048), "`limits` is"),
    "no attempt": (execution("attempts", value=-1), "contradicts itself"),
    "ninety-nine attempts": (execution("attempts", value=99), "contradicts itself"),
    "lost, and passed": (result("lost", value="exit code 1"), "contradicts itself"),
    "5,000 seconds": (result("wall_s", value=5000.0), "contradicts itself or the limits"),
    "negative time": (result("wall_s", value=-0.25), "contradicts itself"),
    "stopped in time": (result("timed_out", value=True), "contradicts itself"),
    "ended twice": (result("signal", value=9), "contradicts itself"),
    "less than no time": (result("used", "cpu_s", value=-1.0), "contradicts itself"),
    "no byte": (result("stdout", "bytes", value=0), "contradicts itself"),
    "cut and whole": (result("stderr", "truncated", value=True), "contradicts"),
    "more than the cap": (
        result("stderr", value={"data": "x" * (1 << 21), "bytes": 1 << 21}), "the limits"),
    "executed two days early": (ran("2026-11-20T01:03:04Z"), "more than a day before"),
    "executed after the day": (ran("2026-11-23T00:00:01+00:00"), "after the archive's day"),
    "executed some time": (ran("x"), "or never"),
    "schema": (execution("schema_version", value=RECORD_SCHEMA + 1), "does not fit the schema"),
    "a key given twice": (text(EXECUTION, "{", '{"cell": 0,'), "duplicate key"),
    "a further key of the engine": (
        record(IMAGE, lambda value: value["engine"].update(mode="fast")), "should match pattern"),
    "a further key of a cell's engine": (
        record(EXECUTION, lambda value: value["engine"].update(x=1)), "engine.x"),
    "a further key": (record(EXECUTION, lambda value: value.update(x=1)), "does not fit the schema"),
    "score as a text": (
        record(SCORE, put("passed", value="no")), "passed: Input should be a valid boolean"),
    "trial as a text": (record(SCORE, put("cell", "trial", value="1")), "cell.trial"),
    "control left out": (drop(CONTROL), f"{CONTROL}: the archive does not hold it"),
    "control without PowerShell": (
        record(CONTROL, lambda value: value.update(
            runs=[run for run in value["runs"] if run["shell"] == "bash"],
            not_measured={"pwsh": "none"})), "its shells are not the images'"),
    "control without results": (
        record(CONTROL, put("runs", 0, "results", value={})), "its results contradict the study"),
    "control's hours": (
        record(CONTROL, put("runs", 0, "results", "11", "wall_s", value=5000.0)), "contradict the"),
    "control that is not base64": (
        record(CONTROL, put("runs", 0, "results", "11", "stdout", value=NO_BASE64)), "contradict"),
    "a day of 2099": ({"utc_date": "2099-01-01"}, "has not come yet"),
}
CONCEDED = {
    "invented output": (result("stderr", value={"data": "x", "bytes": 1}), ""),
    "clock set back 12 minutes": (ran("2026-11-22T00:50:03Z"), ""),
    "an earlier task": (record(GENERATION, put("task_sha256", value="0" * 64)), ""),
    "trials left out": (
        text("study.json", '"trials": 1', '"trials": 2'), "PARTIAL: 2 of 4 cells are missing"),
    "cell left out": (drop(f"results/[^/]+/{CELL}.json"), "PARTIAL: 1 of 2 cells are missing"),
    "tasks left out": (tasks_left_out, ""),
    "uncommitted": ({"dirty": True}, "uncommitted changes"),
    "control: false": (several(
        record("study.json", put("control", value=False)), drop(CONTROL)), ""),
}
"""What no archive can show, or what the report says."""
REFUTED = {
    "registration dated before its commit": (
        record(REGISTRATION, lambda value: value.update(
            with_self_hash(value | {"commit": git_state()[0], "dirty": False}))), "before its commit"),
}
# fmt: on
PLACES = ("own", "later", "without git", "shallow", "dirty")
A, N, P = "ALTERED", "NOT CHECKED", "PROVEN"
GROUPS = {
    (A, N, N, N, N): DIFFERENT,
    (A, P, N, N, P): WORDED,
    (N, N, N, N, N): UNKNOWN,
    (A, A, A, A, A): CONTRADICTORY,
    (A, A, P, P, A): REFUTED,
    (P, P, P, P, P): CONCEDED,
}
"""The verdict at the archive's commit, at a later one, without git, in a shallow clone of the
later one, and with uncommitted changes of the code."""
SHOWN = (
    "table with PowerShell's verdicts False",
    "every score False, code hashes invented",
    "score",
    "reasons invented",
    "reply that is not the raw message",
    "prompts with a hint",
    "temperature 1.9 sent",
    "another model asked",
    "another wire",
    "one message for two requests",
    "tree",
    "key of a world",
    "rigged sandbox",
    "rigged sandbox, commit invented",
    "file the sandbox lacks",
    "registration dated before its commit",
    "control without PowerShell",
    "lost, and passed",
    "task that is called private",
    "unofficial build called official",
    "ninety-nine attempts",
    "numbers of a score",
    "invented output",
    "a set with tasks left out",
    "tasks left out",
    "cell left out",
    "control: false",
)
"""Those of the table in docs/evidence.md."""
HONEST = {
    "tasks left out": "stated_archive",
    "one message for two requests": "unseeded_archive",
}
"""The archive that is altered, where it is another."""
CASES = [
    pytest.param(name, verdicts, *forgery, id=name)
    for verdicts, group in GROUPS.items()
    for name, forgery in group.items()
]


@pytest.mark.parametrize("name, verdicts, forged, what", CASES)
def test_forgery_ends_as_promised(name, verdicts, forged, what, request, at, tmp_path):
    changes, facts = ((), forged) if isinstance(forged, dict) else ((forged,), {})
    if name in UNKNOWN:
        facts = {"commit": "f" * 40}
    at("own")
    honest = request.getfixturevalue(HONEST.get(name, "small_archive"))
    path = rewritten(honest, tmp_path, *changes, **facts)
    found = {}
    for place in PLACES if name in SHOWN else PLACES[::3]:
        at(place)
        report = verify_archive(path)
        found[place] = report.verdict()
        all_found = [one for found_so in report.found.values() for one in found_so]
        said = "\n".join([*report.lines(), *map(str, all_found)])
        assert what in said or (found[place] == P and verdicts[0] != P), said
    expected = dict(zip(PLACES, verdicts, strict=True))
    assert found == {place: expected[place] for place in found}, said


@pytest.mark.parametrize("name", ["small_archive", *HONEST.values()])
def test_honest_archive_is_proven_wherever_it_is_read(name, request, at):
    for place in PLACES:
        at(place)
        report = verify_archive(request.getfixturevalue(name))
        assert report.exit_code == 0, [*report.lines()]


@pytest.mark.parametrize("kind", FIELDS)
def test_each_field_of_a_record_is_checked_in_one_way(kind):
    named = [name for names in FIELDS[kind].values() for name in names.split()]
    assert sorted(named) == sorted(kind.model_fields.keys() - {"schema_version"})


def test_world_of_another_generator_is_not_proven(tmp_path, monkeypatch):
    """A study that ran in easier worlds, in which every hash fits."""

    def easier(task, seed):
        world = world_for(task, seed)
        return replace(world, files=dict(world.files) | {"easy": b""})

    monkeypatch.setattr(pack, "world_for", easier)
    made = make(tmp_path / "s", make_study(("stale-lockfiles",), trials=1), worlds=easier)
    report = verify_archive(archived(made, tmp_path / "out"))
    assert "generator makes another world of seed 11" in "\n".join(report.lines())
    assert report.exit_code == 3


def test_files_of_an_earlier_commit_are_the_archives(small_archive, at, checkouts, tmp_path):
    """The sandbox has changed since: where git knows the commit, the archive is still proven."""
    runner = checkouts["later"] / "sandbox/README.md"
    kept = runner.read_bytes()
    try:
        runner.write_bytes(b"later")
        at("later")
        assert verify_archive(small_archive).exit_code == 0
        unknown = verify_forged(small_archive, tmp_path, commit="f" * 40)
        assert unknown.verdict() == N and "Nobody here knows commit ffff" in [*unknown.lines()][-2]
    finally:
        runner.write_bytes(kept)
    early = verify_forged(small_archive, tmp_path, utc_date="2020-01-01")
    assert "its day is before its commit's" in str(early.altered)


@pytest.mark.parametrize("place", PLACES)
def test_next_step_names_only_a_commit_of_this_history(place, small_archive, at, tmp_path):
    at(place)
    report = verify_forged(small_archive, tmp_path, DIFFERENT["score"][0])
    known = place in ("later", "dirty")
    assert ("git checkout" in [*report.lines()][-2]) == known


def test_archived_code_is_never_run(small_archive, tmp_path):
    trap = tmp_path / "sprung"
    evil = f"open({str(trap)!r}, 'w').close()\n".encode()

    def change(files):
        files[f"{TASK}/answer.py"] = evil + files[f"{TASK}/answer.py"]
        files[f"{TASK}/fixture.py"] = evil + b"def extend(builder, rng): pass\n"

    report = verify_forged(small_archive, tmp_path, change)
    assert report.exit_code == 3
    found = replay_archive(tmp_path / small_archive.name)
    assert "task stale-lockfiles has another check than the archived one" in found.notes
    assert found.differences == [] and not trap.exists()


def test_wholly_forged_study_differs_by_hash(small_archive, tmp_path):
    """Invented answers that went through the real pipeline are consistent: the note says so."""
    study = make_study(("stale-lockfiles",), trials=1)
    forged = make(tmp_path / "forged", study, reply=lambda task, cell: task.wrong[cell.shell][0])
    report = verify_archive(archived(forged, tmp_path / "out"))
    assert report.exit_code == 0 and [*report.lines()][-1] == "PROVEN"
    assert report.sha256 != sha256(small_archive.read_bytes())


def test_broken_task_of_this_checkout_is_named(small_archive, monkeypatch):
    """Not the archive is blamed, and no verdict is given."""

    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr("fluency.core.tasks.Task._answer", broken)
    with pytest.raises(UserError, match=r"tasks/stale-lockfiles/answer.py"):
        verify_archive(small_archive)


def test_verify_starts_git_alone_and_opens_no_socket(small_archive, at):
    """Also no provider, container or Snakemake, which are processes and sockets."""
    at("own")
    code = (
        "import sys, pathlib\n"
        "seen = []\n"
        "def hook(event, args):\n"
        "    if event in ('subprocess.Popen', 'os.exec', 'os.posix_spawn', 'os.fork', 'os.system'):\n"
        "        seen.append(str(args[0]))\n"
        "    if event.startswith('socket.') and event != 'socket.gethostname':\n"
        "        seen.append(event)\n"
        "from fluency.archive.verify import verify\n"
        "sys.addaudithook(hook)\n"
        "code = verify(pathlib.Path(sys.argv[1]))\n"
        "print('seen', sorted(set(seen)))\n"
        "sys.exit(code)\n"
    )
    done = completed(sys.executable, "-c", code, str(small_archive))
    assert done.stdout.splitlines()[-1] == "seen ['git']"


def test_verify_compares_record_hash(small_archive, tmp_path, capsys):
    record_ = write_decision(small_archive, "Which", tmp_path)
    assert verify.verify(small_archive, record_) == 0
    (tmp_path / "x").mkdir()
    other = rewritten(small_archive, tmp_path / "x", CONCEDED["an earlier task"][0])
    assert verify.verify(other) == 0 and verify.verify(other, record_) == 1
    assert "it is not the archive that" in capsys.readouterr().out


def test_record_must_rest_on_one_archive(small_archive, tmp_path):
    path = write_decision(small_archive, "Which", tmp_path)
    record_ = path.read_text()
    line = re.search(r"- SHA-256 of the archive: .*\n", record_)[0]
    for text_ in (record_ + line, record_.replace(line, f"<!--\n{line}-->\n"), ""):
        path.write_text(text_)
        with pytest.raises(UserError, match="a decision is based on one"):
            verify.verify(small_archive, path)
