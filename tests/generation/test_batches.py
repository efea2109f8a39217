"""Batches: one order, collected in any order, by whichever process is alive, and paid once."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fluency.common.errors import CallError, StopRun
from fluency.generation.failure import RetryPolicy
from tests.generation.endpoint import BEHAVIOURS, Endpoint, Reply
from tests.generation.studies import ask, cells_of, generator_of, prompt_of, study_of

MODEL = {"alias": "m", "id": "claude-sonnet-4-6", "transport": "batch", "in_flight": 4}
FEW = RetryPolicy(attempts=2, first_wait_s=0.02, batch_poll_s=0.02)


@pytest.fixture
def study(endpoint):
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    return study_of(MODEL)


def run(study, store, endpoint, **over):
    """All cells at once, announced beforehand; the records or what was raised."""
    cells = cells_of(study)
    generator = generator_of(study, store, endpoint, **over)
    generator.prepare_batches((cell, prompt_of(cell)) for cell in cells)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ask, generator, cell) for cell in cells]
        return [future.exception() or future.result() for future in futures]


def right(study, results) -> bool:
    return [r.answer.text for r in results] == [
        f"echo '{prompt_of(cell)}'" for cell in cells_of(study)
    ]


def ordered(endpoint: Endpoint) -> Counter:
    return Counter(r["custom_id"] for batch in endpoint.batches.values() for r in batch["requests"])


def test_one_probe_then_one_batch_at_half_price(study, endpoint, store):
    endpoint.batch_polls = 3
    results = run(study, store, endpoint)
    assert right(study, results) and len(endpoint.prompts) == 1
    assert [len(batch["requests"]) for batch in endpoint.batches.values()] == [11]
    batched = [record for record in results if record.answer.transport == "batch"]
    assert len(batched) == 11
    for record in batched:
        usage = record.answer.usage
        assert record.answer.latency_s is None
        assert record.cost_usd == pytest.approx(
            (usage.input_tokens * 1.5 + usage.output_tokens * 7.5) / 1e6
        )
        assert record.price["output_usd_per_mtok"] == 7.5
    order = next(seen for seen in endpoint.requests if seen.path == "/v1/messages/batches")
    assert order.headers["anthropic-version"] == "2023-06-01"
    assert {request["params"]["temperature"] for request in order.body["requests"]} == {0.7}
    assert not list(store.folder.glob("batches/*"))
    before = len(endpoint.requests)
    assert run(study, store, endpoint) == results and len(endpoint.requests) == before


@pytest.mark.parametrize("fate", ["errored", "expired", "canceled", "broken"])
def test_what_the_batch_did_not_answer_is_asked_by_single_calls(fate, study, endpoint, store):
    endpoint.batch_fate = lambda custom_id, params: (
        fate if "bash" in params["messages"][0]["content"] else "succeeded"
    )
    assert right(study, run(study, store, endpoint))
    assert [len(batch["requests"]) for batch in endpoint.batches.values()] == [11]
    assert set(Counter(endpoint.prompts).values()) == {1}  # nobody was asked twice, one by one
    assert (
        len(endpoint.prompts) == 6
    )  # the probe's cell is a bash one, and five more were not answered


def cut(endpoint: Endpoint, test):
    """Cut the connection of requests that fit a test, after they were served; returns what mends it."""
    honest = endpoint.reply_to

    def serve(seen) -> Reply:
        reply = honest(seen)
        return Reply(reset="after") if test(seen) else reply

    endpoint.reply_to = serve
    return lambda: setattr(endpoint, "reply_to", honest)


def left_half_way(study, store, endpoint, test) -> None:
    """A process that probes, tries its batch while the connection is cut, and is gone."""
    cells = cells_of(study)
    gone = generator_of(study, store, endpoint, retry_policy=FEW)
    gone.prepare_batches((cell, prompt_of(cell)) for cell in cells)
    ask(gone, cells[0])
    mend = cut(endpoint, test)
    with pytest.raises(CallError):
        ask(gone, cells[1])
    mend()
    assert len(list(store.folder.glob("batches/*.json"))) == 1


def stopped_twice(study, store, endpoint, what: str, hint: str) -> Path:
    """Two runs that end at the note of an order, which is returned."""
    (note,) = store.folder.glob("batches/*.json")
    for _ in range(2):
        stopped = run(study, store, endpoint)[1:]
        assert all(isinstance(result, StopRun) for result in stopped)
        assert (
            what in stopped[0].what
            and "for up to $" in stopped[0].what
            and stopped[0].where == str(note)
        )
        assert hint in stopped[0].hint and "delete this file" in stopped[0].hint
    return note


def after_the_order(seen) -> bool:
    return "batches/" in seen.path


@pytest.mark.parametrize(
    "test",
    [after_the_order, lambda seen: seen.path.endswith("/results")],
    ids=["waiting", "collecting"],
)
def test_a_new_process_collects_the_batch_of_a_dead_one(test, study, endpoint, store):
    left_half_way(study, store, endpoint, test)
    assert right(study, run(study, store, endpoint)) and set(ordered(endpoint).values()) == {1}
    assert len(endpoint.batches) == len(endpoint.prompts) == 1


@pytest.mark.parametrize("arrived", [True, False])
def test_an_order_whose_id_did_not_come_back_is_not_repeated_without_asking(
    arrived, study, endpoint, store
):
    left_half_way(study, store, endpoint, lambda seen: "batches" in seen.path and endpoint.batches)
    path = stopped_twice(
        study, store, endpoint, "its id is not known", "write its id into this file as `batch_id`"
    )
    note = json.loads(path.read_text())
    assert note["batch_id"] is None and len(note["requests"]) == 11
    assert len(endpoint.batches) == len(endpoint.prompts) == 1
    if arrived:
        path.write_text(json.dumps(note | {"batch_id": "msgbatch_1"}))
    else:
        endpoint.batches.clear()
        path.unlink()
    assert right(study, run(study, store, endpoint))
    assert (len(endpoint.batches), len(endpoint.prompts)) == (1, 1 if arrived else 2)


@pytest.mark.parametrize("name", ["rate-limit", "overloaded"])
def test_an_order_that_the_service_has_no_room_for_is_given_again(name, study, endpoint, store):
    honest, refusals = endpoint.reply_to, [BEHAVIOURS[name]]
    endpoint.reply_to = lambda seen: (
        refusals.pop() if "batches" in seen.path and refusals else honest(seen)
    )
    assert right(study, run(study, store, endpoint)) and not refusals and len(endpoint.batches) == 1


def test_results_of_more_than_one_replys_bound_are_read_and_none_beyond_it_by_line(
    study, endpoint, store
):
    endpoint.answer = lambda prompt: "x" * (5_000_000 if "pwsh/task-1/3" in prompt else 450_000)
    results = run(study, store, endpoint)
    assert any(
        isinstance(result, CallError) and "larger than 4 MB" in result.what for result in results
    )
    endpoint.answer = lambda prompt: "x" * 450_000
    assert all(len(record.answer.text) == 450_000 for record in run(study, store, endpoint))


def test_a_batch_the_service_forgot_is_not_ordered_anew_without_asking(study, endpoint, store):
    left_half_way(study, store, endpoint, after_the_order)
    endpoint.batches.clear()
    note = stopped_twice(
        study, store, endpoint, "the service does not know msgbatch_1", "delete this file"
    )
    assert endpoint.batches == {} and len(endpoint.prompts) == 1
    note.unlink()  # asked for
    assert right(study, run(study, store, endpoint)) and len(endpoint.batches) == 1


@pytest.mark.parametrize("name", ["bad-key", "spend-cap", "forbidden"])
def test_an_order_that_is_refused_stops_the_run_and_leaves_no_note(name, study, endpoint, store):
    honest = endpoint.reply_to
    endpoint.reply_to = lambda seen: BEHAVIOURS[name] if "batches" in seen.path else honest(seen)
    results = run(study, store, endpoint)
    assert sum(isinstance(result, StopRun) for result in results) == 11
    assert sum(1 for seen in endpoint.requests if "batches" in seen.path) == 1
    assert not list(store.folder.glob("batches/*"))


def test_a_batch_beyond_the_budget_is_not_ordered(endpoint, store):
    study = study_of(MODEL, budget={"stop_usd": 0.05})
    results = run(study, store, endpoint)
    assert sum(isinstance(result, StopRun) for result in results) == 11 and "may cost" in str(
        results[-1]
    )
    assert endpoint.batches == {}


def test_while_a_batch_is_out_single_calls_are_not_made(study, endpoint, store):
    left_half_way(study, store, endpoint, after_the_order)
    single = study_of(MODEL | {"transport": "messages"})
    with pytest.raises(StopRun, match="still out") as caught:
        ask(generator_of(single, store, endpoint), cells_of(single)[2])
    assert "transport: batch" in caught.value.hint
    assert (
        json.loads(next(store.folder.glob("batches/*.json")).read_text())["batch_id"]
        == "msgbatch_1"
    )


def test_cells_nobody_announced_are_answered_too(study, endpoint, store):
    generator = generator_of(study, store, endpoint)
    for cell in cells_of(study):
        assert ask(generator, cell).answer.text == f"echo '{prompt_of(cell)}'"
    assert set(Counter(endpoint.prompts).values()) == {1}
