"""The store against damage, merging and disks that take a part of an answer, or none."""

import errno
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from fluency.common import files
from fluency.common.errors import StopRun, UserError
from fluency.generation.store import ROOM_BYTES, AnswerStore, DamagedAnswer, main, verify
from tests.generation.studies import ask, cells_of, generator_of, study_of


@pytest.fixture
def filled(endpoint, store):
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    study = study_of()
    generator = generator_of(study, store, endpoint)
    records = [ask(generator, cell) for cell in cells_of(study)[:4]]
    endpoint.requests.clear()
    return study, records


HARM = {
    "flip": lambda path, other: path.write_bytes(path.read_bytes().replace(b"echo", b"ecHo")),
    "cut": lambda path, other: os.truncate(path, 100),
    "another's": lambda path, other: path.write_bytes(other.read_bytes()),
    "a web page": lambda path, other: path.write_bytes(b"<html>"),
    "another text": lambda path, other: path.write_text('{"answer": {}, "sha256": ""}'),
    "folder": lambda path, other: (path.unlink(), path.mkdir()),
    "link to itself": lambda path, other: (path.unlink(), path.symlink_to(path.name)),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_answer_is_named_and_never_asked_for_again(
    harm, filled, endpoint, store, capsys, monkeypatch
):
    monkeypatch.setattr("fluency.generation.store.ANSWERS", store.folder)
    study, records = filled
    path, other = (store.path(record.answer.request_key) for record in records[:2])
    HARM[harm](path, other)
    with pytest.raises(DamagedAnswer) as caught:
        ask(generator_of(study, store, endpoint))
    assert caught.value.where == str(path) and "not asked for again" in caught.value.hint
    assert endpoint.requests == []
    assert list(verify(store)[1]) == [str(path)] and main() == 1
    assert str(path) in capsys.readouterr().out.splitlines()[-1]


def test_many_threads_putting_one_answer_leave_one(filled, tmp_path):
    _, records = filled
    fresh = AnswerStore(tmp_path / "fresh")
    variants = [records[0].answer.model_copy(update={"text": f"echo {n}"}) for n in range(16)]
    with ThreadPoolExecutor(16) as pool:
        kept = list(pool.map(fresh.put, variants))
    assert len({answer.text for answer in kept}) == 1 and verify(fresh)[0].total() == 1
    assert not list(fresh.folder.rglob("*.part"))


def test_the_listing_counts_answers_by_model_server_and_outcome(
    endpoint, store, generator, capsys, monkeypatch
):
    monkeypatch.setattr("fluency.generation.store.ANSWERS", store.folder)
    endpoint.script("ok", "refusal", "ok")
    for cell in cells_of(generator.study)[:3]:
        ask(generator, cell)
    assert main() == 0
    who = "claude-sonnet-4-6, by 127.0.0.1"
    first, *rest = capsys.readouterr().out.splitlines()
    assert "3 sound answers, 0 damaged" in first
    assert rest == [f"  {who}: ok: 2", f"  {who}: refusal: 1"]


def test_a_store_that_cannot_be_written_stops_the_run_before_anything_is_bought(endpoint, tmp_path):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "loop").symlink_to("loop")
    study = study_of()
    for name in ("file", "loop"):
        store = AnswerStore(tmp_path / name / "answers")
        with pytest.raises(UserError, match="the answer store cannot be made") as caught:
            ask(generator_of(study, store, endpoint))
        assert caught.value.hint and endpoint.requests == []


LONG = "x" * 20_000


def refuse(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


STEPS = {
    "writing": (tempfile, "mkstemp"),
    "flushing the file": (os, "fsync"),
    "naming": (os, "replace"),
    "flushing the folder": (files, "flush"),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_that_was_not_flushed_leaves_no_file(step, filled, tmp_path, monkeypatch):
    store, answer = AnswerStore(tmp_path / "fresh"), filled[1][0].answer
    with monkeypatch.context() as patch, pytest.raises(StopRun, match="could not be written"):
        patch.setattr(*STEPS[step], refuse)
        store.put(answer)
    assert [path for path in store.folder.rglob("*") if path.is_file()] == []
    assert store.put(answer) == answer and verify(store)[0].total() == 1


def test_what_a_kill_or_a_power_cut_left_is_no_answer(endpoint, store, generator):
    """A temporary file, an empty one."""
    key = ask(generator).answer.request_key
    os.truncate(store.path(key), 0)
    store.path(key).with_name(".1.1-2.part").write_text("{half")
    assert store.get(key) is None and verify(store)[1] == {}
    assert ask(generator).answer.text == "ls -la"
    assert len(endpoint.requests) == 2 and store.get(key) and verify(store)[0].total() == 1


@pytest.mark.parametrize("left", [0, 4096])
def test_full_disk_prints_the_answer_and_buys_nothing_more(left, endpoint, small_disk, capsys):
    study = study_of()
    cells = cells_of(study)
    disk = small_disk(ROOM_BYTES + 1024 * 1024)
    store = AnswerStore(disk / "answers")
    endpoint.answer = lambda prompt: f"echo '{LONG}\x9b\u202e'"
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])

    def fill(seen):
        with (disk / "other").open("wb", buffering=0) as stream, suppress(OSError):
            while True:
                stream.write(b"\0" * 65536)
        os.truncate(disk / "other", os.path.getsize(disk / "other") - left)

    endpoint.on_request = fill
    with pytest.raises(StopRun, match="No space left on device; it is printed above") as caught:
        ask(generator, cells[1])
    path, printed = Path(caught.value.where), capsys.readouterr().err.partition("stored: ")[2]
    assert path.parent.parent == store.folder and "paid, again" in caught.value.hint
    assert printed.isascii() and json.loads(printed)["answer"]["text"] == endpoint.answer("")
    assert generator.budget.spent_usd > 0.1, "its cost stays counted"
    assert verify(store)[0].total() == 1 and not list(store.folder.rglob("*.part"))
    with pytest.raises(StopRun, match=r"No space left|disk is full"):
        ask(generator, cells[1])
    assert len(endpoint.requests) == 2
    (disk / "other").unlink()
    path.write_text(printed)  # as its reader may
    assert ask(generator_of(study, store, endpoint), cells[1]).answer.text == endpoint.answer("")
    assert len(endpoint.requests) == 2
