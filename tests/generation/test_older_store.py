"""A store of schema 1, when keys were hashes of Python's own JSON: nothing in it is asked for again.

`store-of-schema-1` was written by the code of then, at temperature 1.0, which that form wrote as 1.0 and RFC 8785 as 1:
for a paid and an embedded model two answers, one that a killed run left pending and one reply it could not read; and a
batch that is out.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fluency.common.canonical import legacy_canonical_json
from fluency.core.tasks import load_tasks
from fluency.generation.audit import merge, verify
from fluency.generation.cost_estimate import estimate_cost
from fluency.generation.prompt import build_prompt
from fluency.generation.providers.messages_format import read_message
from fluency.generation.reply import answer_of
from fluency.generation.request import request_for, request_key
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import message
from tests.generation.studies import ENVIRON, ask, cells_of, generator_of, prompt_of, study_of

PAID = {"alias": "m", "id": "claude-haiku-4-5", "temperature": 1.0}
EMBEDDED = {"alias": "q", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded", "temperature": 1.0}
NOTE = {"received_utc": "2026-11-22T01:02:03Z", "server": "s", "client": "c", "latency_s": 1.0}
BATCH = {"alias": "b", "id": "claude-sonnet-4-6", "temperature": 1.0, "transport": "batch"}


@pytest.fixture
def older(store):
    shutil.copytree(Path(__file__).with_name("store-of-schema-1"), store.folder)
    return store


def cells_and_study(entry):
    study = study_of(entry, trials=2)
    return study, cells_of(study, tasks=1)


@pytest.mark.parametrize("entry", [PAID, EMBEDDED], ids=["paid", "embedded"])
def test_answers_pending_ones_and_quarantined_replies_are_found_under_their_older_keys(entry, older, endpoint):
    study, cells = cells_and_study(entry)
    generator = generator_of(study, older, endpoint)
    for cell in cells:
        record = ask(generator, cell)
        assert record.answer.text == f"echo '{prompt_of(cell)}'"
        assert record.answer.request_key != request_key(request_for(study, cell, prompt_of(cell)))
        assert ask(generator_of(study, older, endpoint), cell) == record
    assert endpoint.requests == []
    assert verify(older).damaged == {}


def test_a_batch_that_was_out_is_collected_and_only_what_is_new_is_ordered(older, endpoint):
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    note = json.loads(next(older.folder.glob("batches/*.json")).read_text())
    asked = [
        {"custom_id": key, "params": {"model": request["model_id"], "messages": [{"content": request["prompt"]}]}}
        for key, request in note["requests"].items()
    ]
    endpoint.batches[note["batch_id"]] = {"requests": asked, "polls": 0, "made": 0.0}
    one_trial_more = study_of(BATCH, trials=3)
    cells = cells_of(one_trial_more, tasks=1)
    generator = generator_of(one_trial_more, older, endpoint)
    generator.prepare_batches((cell, prompt_of(cell)) for cell in cells)
    newest_first = sorted(cells, key=lambda cell: -cell.trial)
    for cell in newest_first:
        assert ask(generator, cell).answer.text == f"echo '{prompt_of(cell)}'"
    probe, batched, *_ = map(prompt_of, newest_first)
    assert endpoint.prompts == [probe]
    ordered = [request["params"]["messages"][0]["content"] for request in endpoint.batches["msgbatch_2"]["requests"]]
    assert ordered == [batched] and len(endpoint.batches) == 2


def test_the_estimate_does_not_count_them_as_calls(store, endpoint):
    study = study_of(PAID, trials=1)
    (task,) = load_tasks(["tree-size-bytes"])
    cell = next(study.cells([task.id]))
    request = request_for(study, cell, build_prompt(task.prompt, cell.shell))
    key = request_key(request, legacy_canonical_json)
    store.put(answer_of(key, request, read_message(message()), NOTE))
    assert estimate_cost(study, [task], store, environ=ENVIRON).calls == 1  # PowerShell's


def test_merging_keeps_what_is_here_under_the_newer_key(older, endpoint, tmp_path):
    study, (cell, *_) = cells_and_study(PAID)
    fresh = AnswerStore(tmp_path / "fresh")
    mine = ask(generator_of(study, fresh, endpoint), cell).answer
    done = merge(fresh, older.folder)
    assert len(done.different) == 1
    assert fresh.find(mine.request) == mine
