"""Every misbehaviour of the endpoint: what it becomes, and how many requests it costs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.errors import CallError, StopRun
from fluency.generation.audit import verify
from fluency.generation.failure import RetryPolicy
from tests.generation.endpoint import BEHAVIOURS
from tests.generation.studies import ask, cells_of, generator_of, prompt_of, study_of
from tests.waiting import wait_for

ANSWERS = {
    "ok": ("ok", "ls -la"),
    "refusal": ("refusal", ""),
    "refusal-bare": ("refusal", ""),
    "truncated": ("truncated", "find . -na"),
    "thinking-only": ("truncated", ""),
    "thinking-first": ("ok", "ls -la"),
    "several-blocks": ("ok", "ls -la"),
    "unknown-block": ("ok", "ls -la"),
    "empty": ("empty", "  \n"),
    "no-content": ("empty", ""),
    "unknown-stop": ("ok", "ls -la"),
    "wrong-model": ("ok", "ls -la"),
    "no-usage": ("ok", "ls -la"),
    "odd-usage": ("ok", "ls -la"),
    "no-stop-reason": ("ok", "ls -la"),
    "lone-surrogate": ("ok", "echo \N{REPLACEMENT CHARACTER} x"),
    "large-numbers": ("ok", "ls -la"),
    "slow-first-byte": ("ok", "ls -la"),
    "slow-stream": ("ok", "ls -la"),
}
RETRIED = {
    "request-timeout": 4,
    "conflict": 4,
    "rate-limit": 4,
    "rate-limit-ms": 4,
    "rate-limit-nonsense": 4,
    "ramp-limit": 4,
    "client-closed": 4,
    "server-error": 4,
    "not-implemented": 4,
    "bad-gateway": 4,
    "unavailable": 4,
    "gateway-timeout": 4,
    "overloaded": 4,
    "reset-before": 4,
    "reset-after": 4,
    # A reply may have been billed: fewer attempts.
    "reset-middle": 3,
    "short-body": 3,
    "never-first-byte": 3,
    "endless-stream": 3,
    "error-in-200": 3,
    "html": 3,
    "no-message": 3,
    "json-list": 3,
    "nothing": 3,
    "not-a-number": 3,
    "beyond-bounds": 3,
    "deep": 3,
    "truncated-json": 3,
    "invalid-utf8": 3,
    "huge": 3,
}
SLOW = ["never-first-byte", "endless-stream"]  # in the deadline's own test
THIS_CELL_ONLY = ["bad-request", "too-large", "unprocessable", "no-retry", "rate-limit-absurd"]
STOPS_RUN = ["credit-balance", "bad-key", "payment", "forbidden", "spend-cap", "contract-cap"]
STOPS_MODEL = ["not-found", "refused-temperature", "extra-inputs", "temperature-thinking"]
WAITS = ["rate-limit-1s"]


def test_every_behaviour_has_an_expectation():
    named = [*ANSWERS, *RETRIED, *THIS_CELL_ONLY, *STOPS_RUN, *STOPS_MODEL, *WAITS]
    assert sorted(named) == sorted(BEHAVIOURS)


@pytest.fixture
def two_models(endpoint, store):
    """A generator whose models have both answered once, and a fresh cell of the first and of the second."""
    study = study_of({"alias": "a", "id": "claude-sonnet-4-6"}, {"alias": "b", "id": "claude-haiku-4-5"})
    generator = generator_of(study, store, endpoint)
    cells = cells_of(study)
    ask(generator, cells[0])
    ask(generator, cells[-1])
    endpoint.requests.clear()
    return generator, cells[1:-1]


@pytest.mark.parametrize("name", ANSWERS)
def test_replies_that_are_answers_are_records_and_asked_once(name, endpoint, store, two_models):
    generator, cells = two_models
    endpoint.script(name)
    record = ask(generator, cells[0])
    assert (record.answer.outcome, record.answer.text) == ANSWERS[name]
    assert record.answer.attempts == 1
    assert ask(generator, cells[0]) == record
    assert len(endpoint.requests) == 1
    assert store.get(record.answer.request_key) == record.answer


@pytest.mark.parametrize("name", [name for name in RETRIED if name not in SLOW])
def test_passing_troubles_are_retried_and_the_answer_comes(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    record = ask(generator, cells[0])
    assert (record.answer.outcome, record.answer.attempts) == ("ok", 2)
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("name", [name for name in RETRIED if name not in SLOW])
def test_lasting_troubles_leave_the_cell_missing_and_the_others_alone(name, endpoint, store, two_models):
    generator, cells = two_models
    endpoint.always(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    assert not isinstance(caught.value, StopRun)
    assert caught.value.hint
    assert len(endpoint.requests) == RETRIED[name]
    assert verify(store).sound == 2
    endpoint.always(None)
    assert ask(generator, cells[0]).answer.outcome == "ok"


@pytest.mark.parametrize("name", THIS_CELL_ONLY)
def test_what_cannot_help_is_not_repeated(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    assert not isinstance(caught.value, StopRun)
    assert len(endpoint.requests) == 1
    assert ask(generator, cells[-1]).answer.outcome == "ok"  # the other model goes on


def test_an_absurd_pause_is_believed_but_not_waited_for(endpoint, two_models):
    generator, cells = two_models
    endpoint.script("rate-limit-absurd")
    start = time.monotonic()
    for cell in cells[:3]:
        with pytest.raises(CallError, match="the service asks to wait"):
            ask(generator, cell)
    assert time.monotonic() - start < 2
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("name", STOPS_RUN)
def test_key_and_money_stop_the_run_at_once(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    with pytest.raises(StopRun) as first:
        ask(generator, cells[0])
    for cell in (cells[1], cells[-1]):
        with pytest.raises(StopRun) as other:
            ask(generator, cell)
        assert str(other.value) == str(first.value)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("name", STOPS_MODEL)
def test_an_unknown_model_and_a_refused_temperature_stop_that_model(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    for cell in cells[:2]:
        with pytest.raises(StopRun):
            ask(generator, cell)
    assert len(endpoint.requests) == 1
    assert ask(generator, cells[-1]).answer.outcome == "ok"


def test_retry_after_is_honoured(endpoint, two_models):
    generator, cells = two_models
    endpoint.script("rate-limit-1s")
    ask(generator, cells[0])
    first, second = endpoint.requests
    assert 1.0 <= second.at - first.at < 5.0  # a quarter more at most, and what a busy machine adds


def test_a_pause_holds_for_the_whole_model_and_no_other(endpoint, two_models):
    generator, cells = two_models
    endpoint.script("rate-limit-1s")
    with ThreadPoolExecutor(3) as pool:
        limited = pool.submit(ask, generator, cells[0])
        wait_for(lambda: endpoint.requests)
        time.sleep(0.1)
        waiting = pool.submit(ask, generator, cells[1])
        other = pool.submit(ask, generator, cells[-1])
        for future in (limited, waiting, other):
            assert future.result().answer.outcome == "ok"
    start = endpoint.requests[0].at
    delays = {seen.prompt: seen.at - start for seen in endpoint.requests[1:]}
    assert delays.pop(prompt_of(cells[-1])) < min(delays.values())
    assert min(delays.values()) >= 1.0


@pytest.mark.parametrize("name", SLOW)
def test_the_deadline_ends_slow_replies(name, endpoint, store):
    policy = RetryPolicy(attempt_s=1.5, deadline_s=4.0, attempts=20, first_wait_s=0.05, longest_wait_s=0.1)
    generator = generator_of(study_of(), store, endpoint, retry_policy=policy)
    cells = cells_of(generator.study)
    endpoint.script(name)
    assert ask(generator, cells[0]).answer.attempts == 2
    endpoint.requests.clear()
    endpoint.always(name)
    start = time.monotonic()
    with pytest.raises(CallError, match="no complete reply"):
        ask(generator, cells[1])
    assert 1.0 <= time.monotonic() - start < 8.0
    assert 2 <= len(endpoint.requests) <= 4


def test_the_first_cell_is_asked_alone_and_a_dead_endpoint_costs_one_cell(endpoint, store):
    generator = generator_of(study_of(), store, endpoint)
    endpoint.always("overloaded")
    cells = cells_of(generator.study)
    for cell in cells[:5]:
        with pytest.raises(StopRun, match="529"):
            ask(generator, cell)
    assert len(endpoint.requests) == 4


def test_an_outage_in_the_middle_stops_the_model_after_five_lost_cells(endpoint, two_models):
    generator, cells = two_models
    endpoint.always("server-error")
    kinds = []
    for cell in cells[:5] + cells[:2]:
        with pytest.raises(CallError) as caught:
            ask(generator, cell)
        kinds.append(isinstance(caught.value, StopRun))
    assert kinds == [False] * 4 + [True] * 3
    assert len(endpoint.requests) == 5 * 4


def test_nobody_answers_at_all(endpoint, store):
    generator = generator_of(study_of(), store, endpoint)
    endpoint.close()
    with pytest.raises(StopRun, match="connection failed") as caught:
        ask(generator, cells_of(generator.study)[0])
    assert caught.value.hint
