"""Private tasks: counted like others, shown by id and hash, and nothing of their texts in what is published."""

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import pytest

from fluency.archive.archived_study import read_archived_study
from fluency.archive.commands import next_step
from fluency.archive.manifest import MANIFEST_NAME, private_archive_name
from fluency.archive.private_part import HELD_OUT
from fluency.archive.registration import deviations, preregister, read_registration
from fluency.archive.replay import replay_archive
from fluency.archive.tar_format import Entry, write_tar
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_archive
from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.held_out import HELD_OUT_TEXT
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task, load_tasks
from fluency.export import FORMATS, export_study
from tests.archive.factory import (
    Executor,
    Made,
    archived,
    make,
    make_registered,
    make_study,
    result_of,
)
from tests.archive.hostile import contents, put, record, rewritten, verify_forged

SECRET, PUBLIC = "hidden-lines", "stale-lockfiles"
CANARY = re.compile(rb"kanarie|xyzzy")
TASK = """
id: hidden-lines
private: true
version: 3
category: text-processing
provenance: written
provenance_note: kanarie-note
prompt: Print every line of kanarie/prompt-xyzzy.txt that holds a colon, in any order.
structure: {line: '^kanarie.*$'}
content: set
fixture: kanarie-fixture
fairness: kanarie-fairness
lean: bash
difficulty: kanarie-difficulty
references:
  bash: ["grep : kanarie/prompt-xyzzy.txt"]
  pwsh: ["Select-String kanarie : xyzzy"]
wrong:
  bash: ["cat kanarie/xyzzy-wrong"]
  pwsh: ["Get-Content kanarie/xyzzy-wrong"]
"""
ANSWER = """
def expected(world, processes):
    return [line for line in world.lines("kanarie/prompt-xyzzy.txt") if ":" in line]  # kanarie-answer
"""
FIXTURE = """
def extend(builder, rng):
    lines = [f"kanarie-content-{rng.below(1000)}: {number}" for number in range(3 if builder.odd else 4)]
    builder.file("kanarie/prompt-xyzzy.txt", "\\n".join([*lines, "xyzzy-without"]) + "\\n")
"""


class Leaky(Executor):
    """Whatever fails says so with the world's words, in every stream and trace that a record keeps."""

    def run(self, invocation):
        found = super().run(invocation)
        if found.exit_code == 0 or "kanarie/prompt-xyzzy.txt" not in invocation.world.files:
            return found
        words = result_of(b"kanarie-printed\n", b"xyzzy-error\n", 3)
        return words.model_copy(update={"leftover": ["kanarie-process"], "tree_changed": True})


def write_task(
    folder: Path, task: str = TASK, answer: str = ANSWER, fixture: str = FIXTURE
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("task.yaml", task), ("answer.py", answer), ("fixture.py", fixture)):
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """The folder of private tasks, in a place whose name must not come out either."""
    home = tmp_path_factory.mktemp("xyzzy")
    write_task(home / SECRET)
    return home


@pytest.fixture
def known(home, monkeypatch) -> Path:
    monkeypatch.setenv("TASKS_PRIVATE", str(home))
    return home


def study_of(root: Path, home: Path, **more) -> Made:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKS_PRIVATE", str(home))
        study = make_study([SECRET, PUBLIC], decision="which shell our prompts name", **more)
        return make_registered(root, study, sandbox=Leaky(load_tasks(study.tasks), study.shells))


def pack(made: Made, home: Path, out: Path, **more) -> Path:
    log = made.root / "gather.log"
    log.write_text("kanarie in a log\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKS_PRIVATE", str(home))
        return archived(made, out, logs={"logs/made-up/gather.log": log}, **more)


@pytest.fixture(scope="module")
def made(home, tmp_path_factory) -> Made:
    return study_of(tmp_path_factory.mktemp("study"), home)


@pytest.fixture(scope="module")
def archive(made, home, tmp_path_factory) -> Path:
    return pack(made, home, tmp_path_factory.mktemp("archive"))


def part_of(archive: Path) -> Path:
    return archive.with_name(private_archive_name(archive.name))


def readable(name: str, data: bytes) -> bytes:
    """A file's bytes, and what is packed in it: the explorer's details and a world's tree stand in a file as text."""
    packed = re.findall(rb">([A-Za-z0-9+/]{200,}={0,2})<", data) if name.endswith(".html") else []
    streams = [
        base64.b64decode(text) for text in re.findall(rb'"data": "([A-Za-z0-9+/]{4,}={0,2})"', data)
    ]
    return b"".join(
        [
            name.encode(),
            data,
            *(zlib.decompress(base64.b64decode(block)) for block in packed),
            *streams,
        ]
    )


def leaks(files: dict[str, bytes]) -> list[str]:
    return [name for name, data in files.items() if CANARY.search(readable(name, data))]


def test_nothing_of_a_private_task_is_in_the_published_archive(made, archive) -> None:
    files = contents(archive)
    assert leaks(files) == []
    assert {
        "results/made-up/report.md",
        "results/made-up/explorer.html",
        "results/made-up/cells.csv",
    } <= files.keys()
    assert any(name.startswith("preregistrations/") for name in files)
    products = {
        path.name: path.read_bytes()
        for path in (made.results / "made-up").rglob("*")
        if path.is_file()
    }
    assert leaks(products) == [] and not CANARY.search(archive.read_bytes())


def test_the_canaries_would_be_found_where_they_are(made, archive, home, tmp_path) -> None:
    held = set(leaks(contents(part_of(archive))))
    for start in (
        f"tasks/{SECRET}/task.yaml",
        f"tasks/{SECRET}/answer.py",
        "worlds/",
        "answers/",
        "logs/",
    ):
        assert any(name.startswith(start) for name in held), start
    for stage in ("generations", "executions", "scores"):
        assert any(name.startswith(f"results/{stage}/") for name in held), stage
    whole = pack(made, home, tmp_path, with_private=True)
    assert f"tasks/{SECRET}/task.yaml" in leaks(contents(whole)) and not part_of(whole).exists()


def test_it_is_counted_and_shown_by_id_and_hash(made) -> None:
    report = (made.results / "made-up/report.md").read_text()
    digest = next(task.sha256 for task in made.tasks if task.id == SECRET)
    assert (
        f"- {SECRET}, version 3, written, SHA-256 `{digest[:16]}`, private: its texts are held out"
        in report
    )
    assert HELD_OUT_TEXT in (made.results / "made-up/cells.csv").read_text() and "8/8" in report


def test_who_asks_for_them_sees_them(home, tmp_path) -> None:
    shown = study_of(tmp_path / "study", home, show_private=True)
    path = pack(shown, home, tmp_path)
    assert not part_of(path).exists()
    assert {
        "results/made-up/report.md",
        "results/made-up/explorer.html",
        "results/made-up/cells.csv",
    } <= {*leaks(contents(path))}


def test_both_parts_prove_everything(known, archive) -> None:
    found = verify_archive(archive, private=part_of(archive))
    assert (found.problems, found.unproven) == ([], []) and found.checked["scores"] == 8


def test_without_the_private_part_it_says_what_it_cannot_check(archive) -> None:
    found = verify_archive(archive)
    assert (
        found.problems == []
        and found.exit_code == 3
        and "PRIVATE=its private part" in next_step(found)
    )
    told = "held out: 4 cells of 1 private task checked by hash only"
    assert any(
        told in line and "TASKS_PRIVATE=" in line and "PRIVATE=file" in line
        for line in found.lines()
    )
    assert found.conclusion.startswith(
        f"UNPROVEN: scores not reproduced. 4 of 8 scores could not be judged by this checkout: those of {SECRET}."
    )
    assert found.checked["scores"] == 4 and found.verdict("wording") == "proven"
    assert {finding.where for finding in found.unproven} <= {
        HELD_OUT,
        "results/made-up/provenance.json",
    }


def test_with_the_part_but_without_the_folder_its_code_is_not_run(archive) -> None:
    found = verify_archive(archive, private=part_of(archive))
    assert found.problems == [] and found.not_rescored == {SECRET: 4}


def test_another_archives_part_is_refused(known, archive, tmp_path) -> None:
    with pytest.raises(UserError, match="another manifest"):
        verify_archive(rewritten(archive, tmp_path, cells=7), private=part_of(archive))
    with pytest.raises(UserError, match="stands in the other part"):
        verify_archive(part_of(archive), private=archive)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (record(HELD_OUT, lambda held: held["rows"][0].update(passed=False, failure_class=None)), "cells.csv"),
        (record(HELD_OUT, lambda held: held["rows"].pop()), "states no row of this cell"),
        (record(HELD_OUT, lambda held: held["tasks"][0].update(sha256="0" * 64)),
            "stated deviations are not those found"),
        (record(HELD_OUT, lambda held: held["worlds"][SECRET].update({"11": {"sha256": "0" * 64}})), "worlds"),
    ],
)  # fmt: skip
def test_an_edit_of_what_stands_for_them_shows(archive, tmp_path, change, told) -> None:
    found = verify_forged(archive, tmp_path, change)
    assert found.exit_code == 1 and any(told in str(problem) for problem in found.problems), (
        found.lines()
    )


def test_a_task_of_the_project_cannot_be_held_out(archive, tmp_path, monkeypatch) -> None:
    (tmp_path / "tasks" / SECRET).mkdir(parents=True)
    monkeypatch.setattr("fluency.archive.verify.TASKS", tmp_path / "tasks")
    assert any("cannot be held out" in str(problem) for problem in verify_archive(archive).problems)


@pytest.mark.parametrize("listed", [False, True])
def test_nothing_else_can_be_held_out(listed, archive, tmp_path) -> None:
    """A file of a public task, whether the manifest still has its hash or not."""
    manifest = json.loads(contents(archive)[MANIFEST_NAME])
    name = f"results/scores/qwen-0.5b/bash/{PUBLIC}/1.json"
    facts = {"held_out": sorted([*manifest["held_out"], name])} | (
        {"files": manifest["files"]} if listed else {}
    )
    found = verify_forged(archive, tmp_path, lambda files: files.pop(name), **facts)
    assert found.exit_code != 0 and f"it holds out {name}, which is of no private task" in str(
        found.problems
    )


def test_a_record_without_its_task_shows(archive, tmp_path) -> None:
    name = f"results/generations/qwen-0.5b/bash/{SECRET}/1.json"
    data = contents(part_of(archive))[name]
    held_out = [
        other for other in json.loads(contents(archive)[MANIFEST_NAME])["held_out"] if other != name
    ]
    found = verify_forged(
        archive, tmp_path, lambda files: files.update({name: data}), held_out=held_out
    )
    assert found.exit_code == 1 and "it has records though its task is held out" in str(
        found.problems
    )


def test_what_stands_for_them_is_made_anew_from_the_private_part(known, archive, tmp_path) -> None:
    forged = rewritten(archive, tmp_path, record(HELD_OUT, put("tasks", 0, "lean", value="pwsh")))
    part = contents(part_of(archive)) | {MANIFEST_NAME: contents(forged)[MANIFEST_NAME]}
    write_tar(tmp_path / "part", [Entry(name, data) for name, data in part.items()])
    found = verify_archive(forged, private=tmp_path / "part")
    assert any(f"{HELD_OUT}: rebuilt" in str(problem) for problem in found.problems)


def test_the_registration_commits_to_its_hashes_and_a_changed_task_shows(
    made, home, archive, tmp_path, monkeypatch
):
    frozen = read_registration(Path(made.study.preregistration))["tasks"][SECRET]
    assert set(frozen) == {"sha256", "prompt_sha256", "check_sha256", "folder_sha256", "worlds"}
    elsewhere = tmp_path / "elsewhere"
    write_task(elsewhere / SECRET, fixture=FIXTURE.replace("xyzzy-without", "xyzzy-otherwise"))
    monkeypatch.setenv("TASKS_PRIVATE", str(elsewhere))
    changed = make(
        tmp_path / "study",
        made.study,
        sandbox=Leaky(load_tasks([SECRET, PUBLIC]), made.study.shells),
    )
    assert (
        f"tasks.{SECRET}.worlds: not as registered"
        in (changed.results / "made-up/report.md").read_text()
    )
    path = pack(changed, elsewhere, tmp_path)
    assert verify_archive(path, private=part_of(path)).exit_code == 0, "the deviation is stated"

    hidden = record("results/made-up/provenance.json", lambda stated: stated.update(deviations=[]))
    (tmp_path / "hidden").mkdir()
    found = verify_forged(path, tmp_path / "hidden", hidden)
    assert any(
        "stated deviations are not those found" in str(problem) for problem in found.problems
    )


def test_a_comment_in_its_fixture_is_a_change_of_the_registered_task(home, tmp_path) -> None:
    shutil.copytree(home / SECRET, tmp_path / SECRET)
    before = load_task(tmp_path / SECRET)
    study = make_study([SECRET], decision="which")
    path = preregister(study, [before], "which", tmp_path / "pre", utc="2026-11-01T00:00:00Z")
    (tmp_path / SECRET / "fixture.py").write_text(f"{FIXTURE}# later\n")
    assert deviations(study, [load_task(tmp_path / SECRET)], path) == [
        f"tasks.{SECRET}.folder_sha256: not as registered"
    ]


def test_a_replay_leaves_what_is_held_out(archive, known) -> None:
    found = replay_archive(archive)
    assert f"task {SECRET} is held out; its cells are left as archived" in found.notes
    assert found.differences == [] and found.before == found.after and len(found.rows) == 8


def test_an_export_holds_them_out_too(archive, made, tmp_path) -> None:
    with unpacked(archive) as files:
        for number, view in enumerate((read_archived_study(files).view(), made.view())):
            rows = view.rows()
            assert [row.passed for row in rows if row.task == SECRET] == [True, False] * 2
            assert not CANARY.search(
                repr((rows, view.tasks, [view.records(cell) for cell in view.cells])).encode()
            )
            for name in FORMATS:
                export_study(view, "any", "a test", name, tmp_path / f"{number}-{name}")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written and not any(CANARY.search(path.read_bytes()) for path in written)


def test_private_tasks_belong_to_the_bank(known) -> None:
    assert {task.id for task in load_tasks("all")} == {SECRET} | {
        path.name for path in TASKS.glob("[!._]*/")
    }
    assert world_for(load_tasks([SECRET])[0], 11).files["kanarie/prompt-xyzzy.txt"]


def test_a_private_task_in_the_wrong_place_is_refused(tmp_path, monkeypatch) -> None:
    def refused(folder: Path, says: str, wanted: str = "all") -> None:
        monkeypatch.setenv("TASKS_PRIVATE", str(folder))
        with pytest.raises(UserError, match=says) as caught:
            load_tasks(wanted)
        assert caught.value.hint

    refused(tmp_path / "nowhere", "no such folder")
    refused(TASKS, "is inside the project")
    open_one = write_task(
        tmp_path / "open" / SECRET, TASK.replace("private: true", "private: false")
    ).parent
    refused(open_one, "is not marked as private")
    taken = write_task(tmp_path / "taken" / PUBLIC, TASK.replace(SECRET, PUBLIC)).parent
    refused(taken, "has the id of a task of the project")
    monkeypatch.delenv("TASKS_PRIVATE")
    monkeypatch.setattr("fluency.core.tasks.TASKS", tmp_path / "bank")
    with pytest.raises(UserError, match="is in the project"):
        load_task(write_task(tmp_path / "bank" / SECRET))
