"""What counts in the budget: replies of no use too, in this run, in later ones, and in those beside it."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest

from fluency.common.errors import CallError, StopRun
from fluency.core.study import PILOT, Cell
from fluency.core.tasks import Task, load_tasks
from fluency.generation.batch_note import new_note
from fluency.generation.batches_out import BatchesOut
from fluency.generation.cost_estimate import estimate_cost
from fluency.generation.prompt import build_prompt
from fluency.generation.request import request_for
from fluency.generation.spending import SpendingLog
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import BEHAVIOURS, Reply, message
from tests.generation.studies import ENVIRON, QUICK, ask, cells_of, generator_of, prompt_of, study_of
from tests.generation.test_pace import DEAR, ask_all, dear_study
from tests.waiting import wait_for

BOUND_USD = 1024 / 100  # max_tokens at the price of DEAR
TASKS = load_tasks(PILOT)[:2]


@pytest.mark.parametrize("name", ["truncated-json", "html", "nothing", "invalid-utf8", "huge", "no-message", "deep"])
def test_replies_of_no_use_count_as_the_dearest_they_can_be(name, endpoint, store):
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint)
    endpoint.script(name)
    record = ask(generator, cells_of(study)[0])
    assert len(endpoint.requests) == 2
    assert generator.budget.spent_usd == pytest.approx(BOUND_USD + record.cost_usd)


@pytest.mark.parametrize("name", ["short-body", "endless-stream"])
def test_replies_that_were_cut_count_too(name, endpoint, store):
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint)
    endpoint.script(BEHAVIOURS[name] if name == "short-body" else Reply(chunk_bytes=1, chunk_s=1.0))
    record = ask(generator, cells_of(study)[0])
    assert generator.budget.spent_usd == pytest.approx(BOUND_USD + record.cost_usd)


def test_a_reply_that_does_not_begin_in_time_counts_too(endpoint, store):
    """The service has the request and may have billed it, though nobody has read a byte of its answer."""
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint, retry_policy=replace(QUICK, attempt_s=1.0))
    endpoint.script("never-first-byte")
    record = ask(generator, cells_of(study)[0])
    assert len(endpoint.requests) == 2
    assert generator.budget.spent_usd == pytest.approx(BOUND_USD + record.cost_usd)


def test_a_call_that_finds_nobody_there_does_not_count(endpoint, store):
    study = dear_study(stop_usd=1000)
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"http://127.0.0.1:{server.getsockname()[1]}"
    generator = generator_of(study, store, endpoint, base_urls={"m": nobody})
    with pytest.raises(StopRun, match="the connection failed"):
        ask(generator, cells_of(study)[0])
    assert (generator.budget.spent_usd, store.spending.lost()) == (0, {})


@pytest.mark.parametrize("name", ["overloaded", "reset-before", "server-error", "bad-gateway", "rate-limit-ms"])
def test_replies_that_nobody_bills_do_not_count(name, endpoint, store):
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint)
    endpoint.script(name)
    assert generator.budget.spent_usd + ask(generator, cells_of(study)[0]).cost_usd == generator.budget.spent_usd


def test_the_stop_holds_against_an_endpoint_whose_every_reply_is_broken(endpoint, store):
    study = dear_study(stop_usd=5 * BOUND_USD)
    cells = cells_of(study, tasks=4)
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])
    endpoint.always("truncated-json")
    raised = [error for error in ask_all(generator, cells[1:]) if error]
    assert any(isinstance(error, StopRun) and "budget.stop_usd" in str(error) for error in raised)
    assert 5 <= len(endpoint.requests) - 1 <= 5 + 4 - 1


def real_cells(study):
    texts = {task.id: task for task in TASKS}
    return [(cell, texts[cell.task]) for cell in study.cells(list(texts))]


def ask_real(generator, cell, task: Task):
    return generator.generate(cell, build_prompt(task.prompt, cell.shell), "0" * 64)


def test_replies_of_no_use_count_in_the_next_run_and_in_the_plan(endpoint, store):
    study = dear_study(stop_usd=2.5 * BOUND_USD)
    (cell, task), (other, other_task) = real_cells(study)[:2]
    endpoint.always("truncated-json")
    with pytest.raises(StopRun):
        ask_real(generator_of(study, store, endpoint), cell, task)
    assert len(endpoint.requests) == 3
    made = estimate_cost(study, TASKS, AnswerStore(store.folder), environ=ENVIRON)
    assert made.spent_usd == pytest.approx(3 * BOUND_USD)
    endpoint.always(None)
    later = generator_of(study, AnswerStore(store.folder), endpoint, spent_usd=made.spent_usd)
    with pytest.raises(StopRun, match="of it by earlier runs"):
        ask_real(later, other, other_task)
    assert len(endpoint.requests) == 3
    another = study_of({"alias": "m", "id": "claude-haiku-4-5", "price": DEAR})
    assert estimate_cost(another, TASKS, store, environ=ENVIRON).spent_usd == 0, "it never asked that"


def test_runs_at_once_over_one_store_share_the_budget(endpoint, store):
    endpoint.always(Reply(body=message(usage={"input_tokens": 9, "output_tokens": 100})))
    study = dear_study(stop_usd=5)
    cells = cells_of(study, tasks=4)
    runs = [generator_of(study, AnswerStore(store.folder), endpoint) for _ in range(3)]
    bought = 0
    with pytest.raises(StopRun, match="by other runs at the same time"):
        for number, cell in enumerate(cells):
            ask(runs[number % 3], cell)
            bought += 1
    assert bought == 5
    assert all(run.budget.spent_usd <= 2 for run in runs)


@pytest.mark.parametrize("fate", ["broken", "no message"])
def test_results_of_a_batch_that_are_of_no_use_count_at_its_price(fate, endpoint, store):
    model = {"alias": "m", "id": "claude-sonnet-4-6", "transport": "batch", "price": DEAR}
    study = study_of(model, budget={"stop_usd": 1000})
    cells = cells_of(study)[:3]
    honest = endpoint._batch_results

    def spoiled(name: str) -> bytes:
        lines = honest(name).splitlines(keepends=True)
        return b"".join([b"{broken\n" if fate == "broken" else lines[0].replace(b'"content"', b'"x"'), *lines[1:]])

    endpoint._batch_results = spoiled
    generator = generator_of(study, store, endpoint)
    generator.prepare_batches((cell, prompt_of(cell)) for cell in cells)
    records = [ask(generator, cell) for cell in cells]
    assert sorted(record.answer.transport for record in records) == ["batch", "messages", "messages"]
    assert generator.budget.spent_usd == pytest.approx(BOUND_USD / 2 + sum(record.cost_usd for record in records))


def batch_study(**budget):
    batch = {"alias": "b", "id": "claude-sonnet-4-6", "transport": "batch", "price": DEAR}
    single = {"alias": "s", "id": "claude-haiku-4-5", "price": DEAR}
    return study_of(batch, single, budget=budget)


def cells_by_model(study) -> tuple[list[Cell], list[Cell]]:
    cells = cells_of(study)
    return [c for c in cells if c.model == "b"][:5], [c for c in cells if c.model == "s"]


def test_a_batch_that_is_out_counts_in_every_run_until_it_is_collected(endpoint, store):
    """Four orders at half the price; what they may cost leaves other calls no room, what they do cost does."""
    study = batch_study(stop_usd=2.5 * BOUND_USD)
    batched, single = cells_by_model(study)
    endpoint.batch_polls = 10**6
    first = generator_of(study, AnswerStore(store.folder), endpoint)
    first.prepare_batches((cell, prompt_of(cell)) for cell in batched)
    with ThreadPoolExecutor(5) as pool, ExitStack() as at_last:
        at_last.callback(setattr, endpoint, "batch_polls", 0)  # whatever fails, nobody waits for ever
        asked = [pool.submit(ask, first, cell) for cell in batched]
        wait_for(lambda: endpoint.batches)
        assert BatchesOut(store).open_usd() == pytest.approx(4 * BOUND_USD / 2)
        second = generator_of(study, AnswerStore(store.folder), endpoint)
        assert ask(second, single[0]).answer.text, "there is still room for it"
        second.budget.add(BOUND_USD / 2, "k")
        for generator in (second, first):  # its own run counts it too
            with pytest.raises(StopRun, match=r"spoken for.*batches that are out may cost \$20.48") as caught:
                ask(generator, single[1])
            assert str(store.folder / "batches") in caught.value.where
        endpoint.batch_polls = 0
        assert [future.result().answer.text for future in asked] == ["ls -la"] * 5, "its own batch is minded on"
    assert BatchesOut(store).usd() == 0
    third = generator_of(study, AnswerStore(store.folder), endpoint, spent_usd=second.budget.spent_usd)
    assert ask(third, single[1]).answer.text


def test_a_batch_is_not_ordered_beside_one_that_leaves_it_no_room(endpoint, store):
    study = batch_study(stop_usd=1.25 * BOUND_USD)
    cells, _ = cells_by_model(study)
    request = request_for(study, cells[0], "another prompt", refused=False)
    note = new_note(store, "another-model", {"k" * 64: request}, {"k" * 64: BOUND_USD})
    generator = generator_of(study, store, endpoint)
    generator.prepare_batches((cell, prompt_of(cell)) for cell in cells[:2])
    ask(generator, cells[0])
    with pytest.raises(StopRun, match="what is next may cost"):
        ask(generator, cells[1])
    assert endpoint.batches == {} and [note] == list(store.folder.glob("batches/*.json"))
    note.unlink()
    assert ask(generator, cells[1]).answer.transport == "batch"


def test_answers_that_are_collected_already_count_once(endpoint, store):
    study = batch_study(stop_usd=1000)
    cells, _ = cells_by_model(study)
    answer = ask(generator_of(study, store, endpoint), cells[0]).answer
    out = BatchesOut(store)
    new_note(store, "m", {answer.request_key: answer.request}, {answer.request_key: 1.0, "k" * 64: 2.0})
    assert (out.usd(), out.open_usd()) == (3.0, 2.0)


def test_the_log_outlives_torn_lines_and_a_disk_that_takes_none(tmp_path):
    first, second = SpendingLog(tmp_path / "log"), SpendingLog(tmp_path / "log")
    first.add(1.5, "a", lost=False)
    with (tmp_path / "log").open("ab") as stream:
        stream.write(b"\n2.5 b lo")
    first.add(2.0, "b", lost=True)
    assert (first.by_others(), second.by_others()) == (0, 3.5)
    first.add(0.5, "b", lost=True)
    assert (second.by_others(), second.lost()) == (4.0, {"b": 2.5})
    assert SpendingLog(tmp_path / "log").by_others() == 0
    nowhere = SpendingLog(tmp_path / "log" / "below")
    nowhere.add(1.0, "a", lost=True)
    assert (nowhere.by_others(), nowhere.lost()) == (0, {})


def test_a_call_that_fails_for_another_reason_leaves_no_line(endpoint, store):
    study = dear_study(stop_usd=5)
    endpoint.always("bad-request")
    with pytest.raises(CallError):
        ask(generator_of(study, store, endpoint), cells_of(study)[0])
    assert store.spending.lost() == {}
