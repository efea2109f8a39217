"""What counts in the budget: answers, and replies of no use that may have been billed."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest

from fluency.common.errors import StopRun
from fluency.core.study import Cell
from fluency.generation.budget import upper_bound_usd
from fluency.generation.policies import resolve
from tests.generation.endpoint import Reply, message
from tests.generation.studies import QUICK, ask, cells_of, generator_of, prompt_of, study_of
from tests.generation.test_pace import DEAR, ask_all, dear_study
from tests.waiting import wait_for

BOUND_USD = 1024 / 100  # max_tokens at the price of DEAR
WHOLE = json.dumps(message()).encode()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=WHOLE, content_length=len(WHOLE) + 100),
        Reply(body=WHOLE + b" " * 40, chunk_bytes=len(WHOLE), chunk_s=3.0, content_length=len(WHOLE) + 100),
    ],
    ids=["cut", "too slow"],
)
def test_a_reply_that_is_complete_though_its_length_promised_more_is_the_answer(reply, endpoint, store):
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint, retry_policy=replace(QUICK, attempt_s=1.0))
    endpoint.script(reply)
    record = ask(generator, cells_of(study)[0])
    assert (record.answer.text, record.answer.attempts, len(endpoint.requests)) == ("ls -la", 1, 1)
    assert generator.budget.spent_usd == pytest.approx(record.cost_usd)


def test_the_stop_holds_against_an_endpoint_whose_every_reply_is_broken(endpoint, store):
    study = dear_study(stop_usd=5 * BOUND_USD)
    cells = cells_of(study, tasks=4)
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])
    endpoint.always("truncated-json")
    raised = [error for error in ask_all(generator, cells[1:]) if error]
    assert any(isinstance(error, StopRun) and "budget.stop_usd" in str(error) for error in raised)
    assert 5 <= len(endpoint.requests) - 1 <= 5 + 4 - 1


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


def cells_by_model(study) -> tuple[list[Cell], list[Cell]]:
    cells = cells_of(study)
    return [c for c in cells if c.model == "b"][:5], [c for c in cells if c.model == "s"]


def test_a_batch_that_is_out_counts_until_it_is_collected_and_stops_only_who_asks(endpoint, store):
    """Four orders at half the price; what they may cost leaves other calls no room, what they do cost does."""
    batch = {"alias": "b", "id": "claude-sonnet-4-6", "transport": "batch", "price": DEAR}
    single = {"alias": "s", "id": "claude-haiku-4-5", "price": DEAR}
    study = study_of(batch, single, budget={"stop_usd": 2.5 * BOUND_USD})
    batched, singles = cells_by_model(study)
    endpoint.batch_polls = 10**6
    generator = generator_of(study, store, endpoint)
    generator.prepare_batches((cell, prompt_of(cell)) for cell in batched)
    with ThreadPoolExecutor(5) as pool, ExitStack() as at_last:
        at_last.callback(setattr, endpoint, "batch_polls", 0)  # whatever fails, nobody waits for ever
        asked = [pool.submit(ask, generator, cell) for cell in batched]
        wait_for(lambda: endpoint.batches)
        assert ask(generator, singles[0]).answer.text, "there is still room for it"
        generator.budget.add(BOUND_USD / 2)
        for _ in range(2):
            with pytest.raises(StopRun, match=r"\$20.48\d* reserved for batches under way") as caught:
                ask(generator, singles[1])
        assert caught.value.where == "budget: stop_usd"
        endpoint.batch_polls = 0
        assert [future.result().answer.text for future in asked] == ["ls -la"] * 5, "its own batch is waited for"
    with pytest.raises(StopRun, match="reserved"):  # stopped for this run
        ask(generator, singles[1])
    again = generator_of(study, store, endpoint, spent_usd=generator.budget.spent_usd)
    assert ask(again, singles[1]).answer.text


@pytest.mark.parametrize(
    "reply",
    [
        "no-usage",
        message(usage={"input_tokens": 0, "output_tokens": 0}),
        message(usage={"input_tokens": 120, "output_tokens": 0}),
        json.dumps(message()).replace('"usage"', '"usage": {"input_tokens": 1, "output_tokens": 1}, "usage"').encode(),
    ],
    ids=["none", "no-tokens", "a-text-of-no-tokens", "usage-twice"],
)
def test_a_usage_that_cannot_be_is_counted_at_the_most_it_may_be(reply, endpoint, store):
    study = study_of()
    endpoint.script(reply if reply == "no-usage" else Reply(body=reply))
    generator = generator_of(study, store, endpoint)
    cell = cells_of(study)[0]
    assert ask(generator, cell).cost_usd is None
    assert generator.budget.spent_usd == upper_bound_usd(resolve(study.models[0]), prompt_of(cell))
