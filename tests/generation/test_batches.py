"""Batches: one order, collected in any order, by whichever process is alive, and paid once."""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.errors import CallError, StopRun
from fluency.generation.retry import RetryPolicy
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
    return [r.answer.text for r in results] == [f"echo '{prompt_of(cell)}'" for cell in cells_of(study)]


def ordered(endpoint: Endpoint) -> Counter:
    """How often each key was ordered in a batch."""
    return Counter(r["custom_id"] for batch in endpoint.batches.values() for r in batch["requests"])


def test_one_probe_then_one_batch_at_half_price(study, endpoint, store):
    endpoint.batch_polls = 3
    results = run(study, store, endpoint)
    assert right(study, results)
    assert len(endpoint.prompts) == 1
    assert [len(batch["requests"]) for batch in endpoint.batches.values()] == [11]
    batched = [record for record in results if record.answer.transport == "batch"]
    assert len(batched) == 11
    for record in batched:
        usage = record.answer.usage
        assert record.answer.latency_s is None
        assert record.cost_usd == pytest.approx((usage.input_tokens * 1.5 + usage.output_tokens * 7.5) / 1e6)
        assert record.price["output_usd_per_mtok"] == 7.5
    order = next(seen for seen in endpoint.requests if seen.path == "/v1/messages/batches")
    assert order.headers["anthropic-version"] == "2023-06-01"
    assert {request["params"]["temperature"] for request in order.body["requests"]} == {0.7}
    assert not list(store.folder.glob("batches/*"))
    before = len(endpoint.requests)
    assert run(study, store, endpoint) == results
    assert len(endpoint.requests) == before


@pytest.mark.parametrize("fate", ["errored", "expired", "canceled", "broken"])
def test_what_the_batch_did_not_answer_is_asked_by_single_calls(fate, study, endpoint, store):
    endpoint.batch_fate = lambda custom_id, params: fate if "bash" in params["messages"][0]["content"] else "succeeded"
    assert right(study, run(study, store, endpoint))
    assert [len(batch["requests"]) for batch in endpoint.batches.values()] == [11]
    assert set(Counter(endpoint.prompts).values()) == {1}  # nobody was asked twice, one by one
    assert len(endpoint.prompts) == 6  # the probe's cell is a bash one, and five more were not answered


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


def with_a_batch(endpoint: Endpoint, number: int = 1):
    """Fits whatever concerns batches from the moment on at which so many were ordered."""
    return lambda seen: "batches" in seen.path and len(endpoint.batches) >= number


def after_the_order(seen) -> bool:
    return "batches/" in seen.path


@pytest.mark.parametrize("moment", ["before its number is known", "after its number is known", "while collecting"])
def test_a_new_process_finds_the_batch_of_a_dead_one(moment, study, endpoint, store):
    tests = {
        "before its number is known": with_a_batch(endpoint),
        "after its number is known": after_the_order,
        "while collecting": lambda seen: seen.path.endswith("/results"),
    }
    left_half_way(study, store, endpoint, tests[moment])
    assert right(study, run(study, store, endpoint))
    assert set(ordered(endpoint).values()) == {1}
    assert len(endpoint.batches) == 1
    assert len(endpoint.prompts) == 1


def test_an_order_that_never_arrived_is_given_by_the_next_process(study, endpoint, store):
    honest, endpoint.batches = endpoint.batches, {}
    left_half_way(study, store, endpoint, with_a_batch(endpoint))
    endpoint.batches = honest  # as if the service had never seen it
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 1


def test_an_order_whose_reply_was_lost_is_found_and_not_repeated(study, endpoint, store):
    lost: list[object] = []

    def first_order(seen) -> bool:
        is_first = seen.method == "POST" and "batches" in seen.path and not lost
        lost.extend([seen] if is_first else [])
        return is_first

    cut(endpoint, first_order)
    assert right(study, run(study, store, endpoint))
    assert lost and len(endpoint.batches) == 1


def test_anothers_batch_of_the_same_size_is_not_taken_for_ours(study, endpoint, store):
    stranger = [{"custom_id": f"x{n}", "params": {"model": "m", "messages": [{"content": "?"}]}} for n in range(11)]
    honest, lost = endpoint.reply_to, []

    def lose_one(seen) -> Reply:
        if seen.method == "POST" and "batches" in seen.path and not lost:
            lost.append(seen)
            endpoint.batches["msgbatch_stranger"] = {"requests": stranger, "polls": 0, "made": time.time()}
            return Reply(reset="before")
        return honest(seen)

    endpoint.reply_to = lose_one
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 2


@pytest.mark.parametrize("days", [-400, -1, 1])
def test_a_lost_order_is_found_whatever_the_clocks_say(days, study, endpoint, store):
    left_half_way(study, store, endpoint, with_a_batch(endpoint))
    (batch,) = endpoint.batches.values()
    batch["made"] += days * 86400
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 1 and set(ordered(endpoint).values()) == {1}


def test_a_batch_that_was_there_before_the_order_is_not_waited_for(study, endpoint, store):
    """Though it is of the same size, does not end soon, and was made later by the service's clock."""
    stranger = [{"custom_id": f"x{n}", "params": {"model": "m", "messages": [{"content": "?"}]}} for n in range(11)]
    endpoint.batches["msgbatch_stranger"] = {"requests": stranger, "polls": -200, "made": time.time() + 86400}
    left_half_way(study, store, endpoint, with_a_batch(endpoint, 2))
    endpoint.batches.popitem()  # as if the order had never arrived
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 2
    assert endpoint.batches["msgbatch_stranger"]["polls"] == -200


def test_a_batch_the_service_forgot_is_not_ordered_anew_without_asking(study, endpoint, store):
    left_half_way(study, store, endpoint, after_the_order)
    endpoint.batches.clear()
    (note,) = store.folder.glob("batches/*.json")
    for _ in range(2):
        stopped = run(study, store, endpoint)[1:]
        assert all(isinstance(result, StopRun) for result in stopped)
        assert "the service does not know msgbatch_1" in stopped[0].what and "for up to $" in stopped[0].what
        assert stopped[0].where == str(note) and "delete this file" in stopped[0].hint
    assert endpoint.batches == {} and len(endpoint.prompts) == 1
    note.unlink()  # asked for
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 1


def test_a_list_that_does_not_reach_back_does_not_say_that_an_order_never_arrived(study, endpoint, store):
    """As another account's would not: what may be out there already is not ordered anew."""
    endpoint.batches["msgbatch_before"] = {"requests": [], "polls": 0, "made": time.time()}
    left_half_way(study, store, endpoint, with_a_batch(endpoint, 2))
    account, endpoint.batches = endpoint.batches, {}
    stopped = run(study, store, endpoint)[1:]
    assert all(isinstance(result, StopRun) for result in stopped) and "reach back to msgbatch_before" in str(stopped[0])
    assert endpoint.batches == {} and len(endpoint.prompts) == 1
    endpoint.batches = account
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 2


def test_a_batch_of_our_own_whose_results_are_of_no_use_is_not_ordered_anew(study, endpoint, store):
    endpoint._batch_results = lambda name: b'{"custom_id": "odd", "result": {"type": "succeeded", "message": null}}\n'
    assert right(study, run(study, store, endpoint))
    assert len(endpoint.batches) == 1 and len(endpoint.prompts) == 12
    assert len(store.spending.lost()) == 11


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
    assert sum(isinstance(result, StopRun) for result in results) == 11
    assert "may cost" in str(results[-1])
    assert endpoint.batches == {}


def test_while_a_batch_is_out_single_calls_are_not_made(study, endpoint, store):
    left_half_way(study, store, endpoint, after_the_order)
    single = study_of(MODEL | {"transport": "messages"})
    with pytest.raises(StopRun, match="still out") as caught:
        ask(generator_of(single, store, endpoint), cells_of(single)[2])
    assert "transport: batch" in caught.value.hint
    assert json.loads(next(store.folder.glob("batches/*.json")).read_text())["batch_id"] == "msgbatch_1"


def test_cells_nobody_announced_are_answered_too(study, endpoint, store):
    generator = generator_of(study, store, endpoint)
    for cell in cells_of(study):
        assert ask(generator, cell).answer.text == f"echo '{prompt_of(cell)}'"
    assert set(Counter(endpoint.prompts).values()) == {1}
