"""The store against damage and merging."""

import json
import os
import threading
import time

import pytest

from fluency.common.errors import UserError
from fluency.generation.audit import main, merge, verify
from fluency.generation.store import AnswerStore, DamagedAnswer
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


@pytest.mark.parametrize("harm", ["flip", "cut", "swap", "not-json", "other-text"])
def test_a_damaged_answer_is_named_and_never_asked_for_again(harm, filled, endpoint, store, capsys):
    study, records = filled
    path = store.path(records[0].answer.request_key)
    data = path.read_bytes()
    harmed = {
        "flip": data.replace(b"echo", b"ecHo"),
        "cut": data[: len(data) // 2],
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
    assert main(store=store) == 1
    assert str(path) in capsys.readouterr().out


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


def test_merging_adds_keeps_and_reports(filled, endpoint, store, tmp_path):
    study, records = filled
    other = AnswerStore(tmp_path / "other")
    generator = generator_of(study, other, endpoint)
    endpoint.answer = lambda prompt: "ls"
    for cell in cells_of(study)[2:7]:
        ask(generator, cell)
    same = records[0].answer
    other.put(same)
    damaged = other.path(ask(generator, cells_of(study)[7]).answer.request_key)
    damaged.write_text("{}")
    done = merge(store, other.folder)
    assert (done.added, done.same, len(done.different), list(done.damaged)) == (3, 1, 2, [str(damaged)])
    assert verify(store).sound == 7
    assert store.get(records[3].answer.request_key) == records[3].answer
    again = merge(store, other.folder)
    assert (again.added, again.same) == (0, 4)
    with pytest.raises(UserError):
        merge(store, tmp_path / "nowhere")


def test_the_listing_says_who_answered_with_how_many_tokens_from_day_to_day(endpoint, store, monkeypatch, capsys):
    study = study_of()
    counted = [{"input_tokens": 120, "output_tokens": 7}, {}, {"input_tokens": 30, "output_tokens": 2}]
    for day, usage, cell in zip((3, 1, 2), counted, cells_of(study), strict=False):
        now = f"2026-11-0{day}T01:02:03Z"
        monkeypatch.setattr("fluency.generation.model_session.utc_now", lambda digits, now=now: now)
        endpoint.script(Reply(body=message(usage=usage)))
        ask(generator_of(study, store, endpoint), cell)
    assert main(store=store) == 0
    said = capsys.readouterr().out.splitlines()
    assert "3 sound answers, 0 damaged" in said[0]
    who = "claude-sonnet-4-6, temperature 0.7, by 127.0.0.1"
    assert said[1].endswith(f"{who}: 3 answers (3 ok), 150 tokens in, 9 out, 2026-11-01 to 2026-11-03")


def test_temporaries_of_killed_runs_are_ignored_and_cleared_when_old(filled, store):
    _, records = filled
    folder = store.path(records[0].answer.request_key).parent
    old, new = folder / f".{'0' * 64}.1-2.part", folder / ".1.1-2.part"
    note = store.folder / "batches" / ".a.json.b.part"
    note.parent.mkdir()
    for part in (old, new, note):
        part.write_text("{half")
    for part in (old, note):
        os.utime(part, (time.time() - 7200,) * 2)
    assert verify(store).sound == 4
    assert [part.exists() for part in (old, new, note)] == [False, True, False]


@pytest.mark.parametrize(
    "block",
    [lambda path: path.parent.write_text("a file"), lambda path: path.parent.symlink_to(path.parent.name)],
    ids=["a file", "a loop of links"],
)
def test_a_store_that_cannot_be_written_stops_the_run_before_anything_is_bought(block, endpoint, tmp_path):
    folder = tmp_path / "parent/answers"
    block(folder)
    study = study_of()
    with pytest.raises(UserError, match="the answer store cannot be made") as caught:
        ask(generator_of(study, AnswerStore(folder), endpoint), cells_of(study)[0])
    assert caught.value.hint and endpoint.requests == []
