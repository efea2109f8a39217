"""How fast and for how much: rate, calls in flight, the budget, and who waits for whom."""

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from fluency.common.errors import StopRun
from fluency.generation.budget import Budget
from fluency.generation.failure import Failure, RetryPolicy, retry_after, retry_policy_for, wait_s
from fluency.generation.pace import Pace
from fluency.generation.policies import resolve
from fluency.generation.reply import DEEPER
from fluency.generation.store import verify
from tests.generation.endpoint import BEHAVIOURS, WHOLE, Reply, message
from tests.generation.studies import QUICK, ask, cells_of, generator_of, prompt_of, study_of
from tests.waiting import wait_for


def ask_all(generator, cells, threads=16):
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(ask, generator, cell) for cell in cells]
        return [future.exception() for future in futures]


def test_calls_in_flight_stay_within_the_bound_and_reach_it(endpoint, store):
    endpoint.delay_s = 0.1
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "in_flight": 3})
    assert not any(ask_all(generator_of(study, store, endpoint), cells_of(study, tasks=3)))
    assert endpoint.most_at_once == 3


def test_threads_that_wake_late_do_not_lower_the_rate(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    pace = Pace(45, 4, longest_pause_s=10)
    late = lambda seconds: clock.__setitem__(0, clock[0] + seconds + 0.25)  # noqa: E731
    monkeypatch.setattr(pace._change, "wait", late)
    starts = []
    for _ in range(91):
        with pace.slot():
            starts.append(clock[0])
    assert starts[1] - starts[0] > 60 / 45 / 2  # no two at once
    assert 119 < starts[-1] - starts[0] < 121
    for seconds in (9, 2):  # a shorter pause ends no longer one
        pace.pause(seconds)
    with pace.slot():
        assert clock[0] >= starts[-1] + 9


def test_a_stop_wakes_those_who_wait(endpoint, store):
    """By the refusal of another model's key, which holds for the whole run."""
    slow = {"alias": "slow", "id": "claude-sonnet-4-6", "requests_per_minute": 1}
    study = study_of(slow, {"alias": "other", "id": "claude-haiku-4-5"})
    generator = generator_of(study, store, endpoint)
    first, *waiting, of_the_other = cells_of(study, tasks=1)[:7]
    ask(generator, first)
    endpoint.script(replace(BEHAVIOURS["bad-key"], first_byte_s=0.3))
    start = time.monotonic()
    assert all(isinstance(error, StopRun) for error in ask_all(generator, [*waiting, of_the_other]))
    assert time.monotonic() - start < 5 and len(endpoint.requests) == 2


@pytest.mark.parametrize(
    "given, seconds",
    [
        ({"retry-after": "7"}, 7), ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 100), ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None), ({"retry-after": "1" * 300}, 1e8),
        ({"retry-after": "Thu, 99999999999 Jan 1970 00:01:40 GMT"}, None),
        ({"retry-after": "nan"}, None), ({"retry-after": "soon"}, None), ({}, None),
    ],
)  # fmt: skip
def test_retry_after(given, seconds, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0)
    assert retry_after(given) == seconds


def test_waits_double_have_jitter_and_obey_the_service():
    policy = RetryPolicy()
    plain = Failure("x", scope="retry")
    for attempt, base in ((1, 0.5), (2, 1), (3, 2), (7, 30), (30, 30)):
        waits = [wait_s(policy, plain, attempt) for _ in range(50)]
        assert base <= min(waits) < max(waits) <= 1.25 * base
    assert 90 <= wait_s(policy, Failure("x", scope="retry", retry_after=90), 1) <= 112.5


def test_who_is_served_on_the_users_own_machine_is_waited_for_longer():
    own = {"id": "own", "base_url": "http://127.0.0.1:1", "key_required": False}
    embedded = {"id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
    models = study_of(
        {"alias": "a", "id": "claude-sonnet-4-6"}, {"alias": "b"} | own, {"alias": "c"} | embedded
    ).models
    found = [(policy.attempt_s, policy.deadline_s) for policy in map(retry_policy_for, models)]
    assert found == [(120, 600), (600, 1800), (600, 1800)]


def test_of_those_that_wait_the_first_in_the_planned_order_starts():
    pace, started = Pace(None, 1, longest_pause_s=10), []

    def start(priority):
        with pace.slot(priority):
            started.append(priority)

    priorities = random.Random(1).sample(range(20), 12)
    with ThreadPoolExecutor(12) as pool, pace.slot(99):
        for priority in priorities:
            pool.submit(start, priority)
        wait_for(lambda: len(pace._waiting) == 12)
    assert started == sorted(priorities, reverse=True)


def test_the_next_call_starts_at_once_though_others_sleep_between_attempts():
    pace = Pace(None, 1, longest_pause_s=10)

    def start():
        with pace.slot():
            return time.monotonic()

    with pytest.raises(ZeroDivisionError), pace.slot():
        _ = 1 / 0  # which gives the slot back
    with ThreadPoolExecutor(9) as pool:
        with pace.slot():
            sleepers = [pool.submit(pace.sleep, 60) for _ in range(8)]
            wait_for(lambda: all(sleeper.running() for sleeper in sleepers))
            began = pool.submit(start)
            time.sleep(0.1)
            end = time.monotonic()
        assert began.result() - end < 0.5  # it looks again after a second anyway
        pace.stop(StopRun("over"))
        assert all(isinstance(sleeper.exception(), StopRun) for sleeper in sleepers)


# ---------------------------------------------------------------- money

USAGE = {"input_tokens": 120, "output_tokens": 9}
# A dollar for 100 tokens.
DEAR = {"input_usd_per_mtok": 0, "output_usd_per_mtok": 10_000, "dated": "2026-11-01"}


def dear_study(**budget):
    entry = {"alias": "m", "id": "claude-sonnet-4-6", "price": DEAR, "in_flight": 4}
    return study_of(entry, budget=budget)


def test_budget_stops_exactly_and_the_next_run_goes_on(endpoint, store):
    endpoint.always(Reply(body=message(usage=USAGE | {"output_tokens": 100}), first_byte_s=0.05))
    generator = generator_of(dear_study(stop_usd=5), store, endpoint)
    cells = cells_of(generator.study, tasks=4)
    raised = ask_all(generator, cells)
    bought = len(endpoint.requests)
    assert bought == 5 and generator.budget.spent_usd == pytest.approx(bought)
    assert sum(isinstance(error, StopRun) for error in raised) == 24 - bought
    assert "budget.stop_usd" in str(next(error for error in raised if error))
    assert verify(store)[0].total() == bought

    same = generator_of(generator.study, store, endpoint, spent_usd=float(bought))
    again = ask_all(same, cells)
    assert sum(isinstance(error, StopRun) for error in again) == 24 - bought
    assert len(endpoint.requests) == bought  # the study's budget, not the run's

    more = generator_of(dear_study(stop_usd=100), store, endpoint, spent_usd=float(bought))
    assert not any(ask_all(more, cells))
    # What the store holds costs nothing.
    assert len(endpoint.requests) == 24 == pytest.approx(more.budget.spent_usd)


def test_budget_holds_a_call_until_those_under_way_cannot_spend_the_rest():
    with pytest.raises(StopRun), Budget(5.0, before=5.0).call(1.0):
        pass
    budget, started = Budget(5.0, before=4.7), threading.Event()

    def call():
        with budget.call(9.0):
            started.set()

    with ThreadPoolExecutor(1) as pool:
        with budget.call(0.1), budget.call(0.2):
            waiting = pool.submit(call)
            assert budget.under_way_usd == 0.3 and not started.wait(0.1)
        waiting.result(10)
    assert (budget.under_way_usd, budget.spent_usd) == (0.0, 4.7)


BOUND_USD = 1024 / 100  # max_tokens at the price of DEAR
TOO_SLOW = {"body": WHOLE + b" " * 40, "chunk_bytes": len(WHOLE), "chunk_s": 3.0}


@pytest.mark.parametrize("how", [{"body": WHOLE}, TOO_SLOW], ids=["cut", "too slow"])
def test_a_complete_reply_whose_length_promised_more_is_the_answer(how, endpoint, store):
    study = dear_study(stop_usd=1000)
    generator = generator_of(study, store, endpoint, retry_policy=replace(QUICK, attempt_s=1.0))
    endpoint.script(Reply(content_length=len(WHOLE) + 100, **how))
    record = ask(generator)
    assert (record.answer.text, record.answer.attempts, len(endpoint.requests)) == ("ls -la", 1, 1)
    assert generator.budget.spent_usd == pytest.approx(record.cost_usd)


def test_the_stop_holds_against_an_endpoint_whose_every_reply_is_broken(endpoint, store):
    study = dear_study(stop_usd=5 * BOUND_USD)
    cells = cells_of(study, tasks=4)
    generator = generator_of(study, store, endpoint)
    ask(generator, cells[0])
    endpoint.always("cut-JSON")
    raised = [error for error in ask_all(generator, cells[1:]) if error]
    assert any(isinstance(error, StopRun) and "budget.stop_usd" in str(error) for error in raised)
    assert len(endpoint.requests) - 1 == 5


@pytest.mark.parametrize(
    "usage",
    [
        {},
        *[USAGE | over for over in ({"input_tokens": "many"}, {"output_tokens": -3})],
        *[USAGE | {"output_tokens": 0}, {"input_tokens": 0, "output_tokens": 0}],
        *[USAGE | {f"cache_{kind}_input_tokens": 2000} for kind in ("read", "creation")],
    ],
)
def test_a_usage_that_cannot_be_is_counted_at_the_most_it_may_be(usage, endpoint, generator):
    endpoint.script(Reply(body=message(usage=usage)))
    record = ask(generator)
    most = resolve(generator.study.models[0]).upper_bound_usd(prompt_of(record.cell))
    assert (record.cost_usd, generator.budget.spent_usd) == (None, most)


SLOWER = {"alias": "m", "id": "claude-sonnet-4-6", "in_flight": 8}


@pytest.mark.parametrize(
    "name, attempts", [("cut-JSON", 3), ("overloaded", 4), ("reset-after", 4), ("bad-key", 1)]
)
def test_while_the_first_call_waits_nobody_else_asks(name, attempts, endpoint, store):
    study = study_of(SLOWER)
    endpoint.always(name)
    raised = ask_all(generator_of(study, store, endpoint), cells_of(study))
    assert sum(isinstance(error, StopRun) for error in raised) == 12 - (name != "bad-key")
    prompts = 1 if name == "bad-key" else 2
    assert len(endpoint.requests) == attempts * prompts and len(set(endpoint.prompts)) == prompts
    assert endpoint.most_at_once == 1


def test_the_others_go_as_soon_as_the_first_is_answered(endpoint, store):
    study = study_of(SLOWER)
    endpoint.script("overloaded", "html", Reply(first_byte_s=0.2)).always(Reply(first_byte_s=0.1))
    assert not any(ask_all(generator_of(study, store, endpoint), cells_of(study)))
    assert len(set(endpoint.prompts[:3])) == 1
    assert endpoint.requests[3].at - endpoint.requests[2].at >= 0.2
    assert endpoint.most_at_once > 1


def test_two_aliases_that_ask_the_same_request_at_once_pay_once(endpoint, store):
    endpoint.always(Reply(first_byte_s=0.1))
    study = study_of(SLOWER | {"alias": "a"}, SLOWER | {"alias": "b"})
    generator = generator_of(study, store, endpoint)
    cells = cells_of(study)
    prompts = [f"{cell.shell} {cell.task}" for cell in cells]  # no alias in it
    with ThreadPoolExecutor(24) as pool:
        assert len(list(pool.map(partial(ask, generator), cells, prompts))) == 24
    assert len(endpoint.requests) == 12 == verify(store)[0].total()


@pytest.mark.parametrize("levels", [60, 70, 200, 450, 700, 900, 20_000])
def test_a_reply_that_nests_deeply_is_an_answer_or_asked_again(levels, endpoint, generator):
    plain = json.dumps(message(usage={"input_tokens": 1, "output_tokens": 1, "x": 7}))
    nested = plain.replace("7", "[" * levels + "]" * levels)
    endpoint.script(Reply(body=nested.encode()))
    record = ask(generator)
    was_read = len(endpoint.requests) == 1  # whether 20,000 levels are depends on the Python
    assert record.answer.text == "ls -la" and (was_read or levels > 1000)
    assert (DEEPER in json.dumps(record.answer.raw)) == (was_read and levels >= 64)
    assert verify(generator.store)[0].total() == 1
