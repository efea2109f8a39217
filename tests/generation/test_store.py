"""The store against damage, merging, full disks, and replies that no code could read."""

from __future__ import annotations

import errno
import json
import os
import threading
import time

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.generation import model_session
from fluency.generation.answer_file import DamagedAnswer, read_file
from fluency.generation.audit import audit, merge, verify
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Reply, message
from tests.generation.studies import ask, cells_of, generator_of, study_of


@pytest.fixture
def filled(endpoint, store):
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    study = study_of()
    generator = generator_of(study, store, endpoint)
    records = [ask(generator, cell) for cell in cells_of(study)[:4]]
    endpoint.requests.clear()
    return study, records


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "swap", "not-json", "other-text"])
def test_a_damaged_answer_is_named_and_never_asked_for_again(harm, filled, endpoint, store, capsys):
    study, records = filled
    path = store.path(records[0].answer.request_key)
    data = path.read_bytes()
    harmed = {
        "flip": data.replace(b"echo", b"ecHo"),
        "cut": data[: len(data) // 2],
        "empty": b"",
        "swap": store.path(records[1].answer.request_key).read_bytes(),
        "not-json": b"<html>",
        "other-text": json.dumps({"answer": {}, "sha256": ""}).encode(),
    }[harm]
    path.write_bytes(harmed)
    with pytest.raises(DamagedAnswer) as caught:
        ask(generator_of(study, store, endpoint), cells_of(study)[0])
    assert caught.value.where == str(path)
    assert "delete it" in caught.value.hint
    assert endpoint.requests == []
    assert list(verify(store).damaged) == [str(path)]
    assert audit(store) == 1
    assert str(path) in capsys.readouterr().out


def test_the_first_answer_stays(filled, store):
    _, records = filled
    first = records[0].answer
    other = first.model_copy(update={"text": "rm -r *"})
    assert store.put(other) == first == store.get(first.request_key)


def test_many_threads_putting_one_answer_leave_one(filled, tmp_path):
    _, records = filled
    fresh = AnswerStore(tmp_path / "fresh")
    variants = [records[0].answer.model_copy(update={"text": f"echo {n}"}) for n in range(16)]
    kept = []
    threads = [threading.Thread(target=lambda v=v: kept.append(fresh.put(v))) for v in variants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.text for answer in kept}) == 1
    assert verify(fresh).sound == 1
    assert not list(fresh.folder.rglob("*.part"))


def test_a_folder_that_others_make_meanwhile_is_no_damage(tmp_path):
    folder, done = tmp_path / "arriving", threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            folder.mkdir()
            folder.rmdir()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        assert not any(read_file(folder / "key.held") for _ in range(5000))
    finally:
        done.set()
        other.join()


def test_merging_adds_keeps_and_reports(filled, endpoint, store, tmp_path):
    study, records = filled
    other = AnswerStore(tmp_path / "other")
    generator = generator_of(study, other, endpoint)
    endpoint.answer = lambda prompt: "ls"
    for cell in cells_of(study)[2:7]:
        ask(generator, cell)
    same = records[0].answer
    other.put(same)
    other.refuse_temperature("claude-sonnet-4-6", "no", "2026-01-01T00:00:00Z")
    damaged = other.path(ask(generator, cells_of(study)[7]).answer.request_key)
    damaged.write_text("{}")
    done = merge(store, other.folder)
    assert (done.added, done.same, len(done.different), list(done.damaged)) == (3, 1, 2, [str(damaged)])
    assert verify(store).sound == 7
    assert store.get(records[3].answer.request_key) == records[3].answer
    assert store.temperature_refused("claude-sonnet-4-6")
    again = merge(store, other.folder)
    assert (again.added, again.same) == (0, 4)
    with pytest.raises(UserError):
        merge(store, tmp_path / "nowhere")


def test_the_listing_says_who_answered_what(filled, store, capsys):
    assert audit(store) == 0
    said = capsys.readouterr().out.splitlines()
    assert "4 sound answers, 0 damaged" in said[0]
    assert "claude-sonnet-4-6, temperature 0.7, by 127.0.0.1: 4 answers (4 ok)" in said[1]


def test_the_listing_adds_up_the_tokens_that_were_counted_from_the_first_day_to_the_last(
    endpoint, store, monkeypatch, capsys
):
    study = study_of()
    counted = [{"input_tokens": 120, "output_tokens": 7}, {}, {"input_tokens": 30, "output_tokens": 2}]
    for day, usage, cell in zip((3, 1, 2), counted, cells_of(study), strict=False):
        monkeypatch.setattr("fluency.generation.context.utc_now", lambda digits, day=day: f"2026-11-0{day}T01:02:03Z")
        endpoint.script(Reply(body=message(usage=usage)))
        ask(generator_of(study, store, endpoint), cell)
    assert audit(store) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1].endswith("3 answers (3 ok), 150 tokens in, 9 out, 2026-11-01 to 2026-11-03")


def test_a_reply_that_no_code_can_read_is_kept_and_read_by_the_next_version(endpoint, store, monkeypatch):
    study = study_of()
    cell = cells_of(study)[0]
    read = model_session.answer_of

    def broken(*arguments):
        raise AttributeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(model_session, "answer_of", broken)
        for _ in range(2):
            with pytest.raises(CallError, match="could not be read") as caught:
                ask(generator_of(study, store, endpoint), cell)
    assert caught.value.where.endswith(".reply")
    assert len(verify(store).waiting) == 1
    assert model_session.answer_of is read
    record = ask(generator_of(study, store, endpoint), cell)
    assert record.answer.text == "ls -la"
    assert len(endpoint.requests) == 1
    assert verify(store).waiting == []


def test_an_answer_that_a_killed_run_held_is_stored_and_not_asked_for(endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    before = ask(generator_of(study, store, endpoint), cell)
    key = before.answer.request_key
    store.path(key).rename(store.pending_path(key))
    assert verify(store).waiting == [key]
    generator = generator_of(study, store, endpoint)
    assert ask(generator, cell) == before
    assert generator.budget.spent_usd == before.cost_usd  # no earlier run could count it
    assert len(endpoint.requests) == 1
    assert verify(store).waiting == []


@pytest.mark.parametrize("left", [b"", b"{}", b'{"answer":{"text":"l'])
def test_a_torn_answer_is_no_answer(left, endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    key = ask(generator_of(study, store, endpoint), cell).answer.request_key
    store.path(key).unlink()
    store.pending_path(key).write_bytes(left)
    ask(generator_of(study, store, endpoint), cell)
    assert len(endpoint.requests) == 2
    assert not store.pending_path(key).exists()


def test_a_disk_that_takes_no_name_keeps_the_answer_for_the_next_run(endpoint, store, monkeypatch):
    study = study_of()
    cell = cells_of(study)[0]

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("fluency.generation.store.flush", full)
        with pytest.raises(StopRun, match="No space left"):
            ask(generator_of(study, store, endpoint), cell)
    ask(generator_of(study, store, endpoint), cell)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("left", [b"", b"{}", b'{"note": {}, "bytes": 5, "sha256": "00"}\nabc'])
def test_a_quarantined_reply_that_was_changed_is_none(left, endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    key = ask(generator_of(study, store, endpoint), cell).answer.request_key
    store.path(key).unlink()
    store.quarantine(key, {}, b"")
    store.quarantine_path(key).write_bytes(left)
    ask(generator_of(study, store, endpoint), cell)
    assert len(endpoint.requests) == 2
    assert not store.quarantine_path(key).exists()


def test_a_quarantined_reply_that_turns_out_to_be_no_message_is_asked_for_again(endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    key = ask(generator_of(study, store, endpoint), cell).answer.request_key
    store.path(key).unlink()
    store.quarantine(key, {}, b"<html>")
    assert ask(generator_of(study, store, endpoint), cell).answer.text == "ls -la"
    assert len(endpoint.requests) == 2
    assert not store.quarantine_path(key).exists()


def test_temporaries_of_killed_runs_are_ignored_and_cleared_when_old(filled, store):
    _, records = filled
    stored = records[0].answer.request_key
    old, new = store.arriving / f"{'0' * 64}.1-2.part", store.arriving / f"{'1' * 64}.1-2.part"
    named, note = store.pending_path(stored), store.folder / "batches" / ".a.json.b.part"
    note.parent.mkdir()
    for part in (old, new, named, note):
        part.write_text("{half")
    for part in (old, named, note):
        os.utime(part, (time.time() - 7200,) * 2)
    assert verify(store).sound == 4
    assert [part.exists() for part in (old, new, named, note)] == [False, True, False, False]


def test_a_store_that_cannot_be_written_stops_the_run_before_anything_is_bought(endpoint, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    study = study_of()
    with pytest.raises(StopRun, match="answer store"):
        ask(generator_of(study, AnswerStore(blocked / "answers"), endpoint), cells_of(study)[0])
    assert endpoint.requests == []
