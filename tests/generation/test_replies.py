"""Every misbehaviour of the endpoint: what it becomes, and how many requests it costs."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.errors import CallError, StopRun
from fluency.generation.audit import verify
from fluency.generation.failure import RetryPolicy
from tests.generation.endpoint import BEHAVIOURS
from tests.generation.studies import ask, cells_of, generator_of, prompt_of, study_of
from tests.waiting import wait_for

PLAIN = "ok thinking-first several-blocks unknown-block unknown-stop wrong-model no-usage odd-usage no-stop-reason"
ANSWERS = dict.fromkeys(f"{PLAIN} large-numbers slow-first-byte slow-stream".split(), ("ok", "ls -la")) | {
    "refusal": ("refusal", ""),
    "refusal-bare": ("refusal", ""),
    "truncated": ("truncated", "find . -na"),
    "thinking-only": ("truncated", ""),
    "empty": ("empty", "  \n"),
    "no-content": ("empty", ""),
    "lone-surrogate": ("ok", "echo \N{REPLACEMENT CHARACTER} x"),
}
SLOW = ["never-first-byte", "endless-stream"]  # in the deadline's own tests
BILLED = ["reset-middle", "short-body", "error-in-200", "html", "no-message", "json-list", "nothing", "not-a-number"]
BILLED += ["beyond-bounds", "deep", "truncated-json", "invalid-utf8", "huge"]
TROUBLES = ["request-timeout", "conflict", "rate-limit", "rate-limit-ms", "rate-limit-nonsense", "ramp-limit"]
TROUBLES += ["client-closed", "server-error", "not-implemented", "bad-gateway", "unavailable", "gateway-timeout"]
TROUBLES += ["overloaded", "reset-before", "reset-after"]
THIS_CELL_ONLY = ["bad-request", "too-large", "unprocessable", "no-retry", "rate-limit-absurd"]
STOPS_RUN = ["credit-balance", "bad-key", "payment", "forbidden", "spend-cap", "contract-cap"]
STOPS_MODEL = ["not-found", "refused-temperature", "extra-inputs", "temperature-thinking"]
WAITS = ["rate-limit-1s"]


def test_every_behaviour_has_an_expectation():
    named = [*ANSWERS, *SLOW, *BILLED, *TROUBLES, *THIS_CELL_ONLY, *STOPS_RUN, *STOPS_MODEL, *WAITS]
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


@pytest.mark.parametrize("name", [*TROUBLES, *BILLED])
def test_lasting_troubles_leave_the_cell_missing_and_the_others_alone(name, endpoint, store, two_models):
    generator, cells = two_models
    endpoint.always(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    assert not isinstance(caught.value, StopRun)
    assert caught.value.hint
    assert len(endpoint.requests) == (3 if name in BILLED else 4)  # a reply may have been billed: fewer attempts
    assert verify(store).sound == 2
    endpoint.always(None)
    assert ask(generator, cells[0]).answer.outcome == "ok"


@pytest.mark.parametrize("name", [*STOPS_RUN, *STOPS_MODEL, *THIS_CELL_ONLY])
def test_what_no_repetition_helps_ends_the_run_the_model_or_the_cell(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    stopped = [cells[1]] * (name not in THIS_CELL_ONLY) + [cells[-1]] * (name in STOPS_RUN)
    for cell in stopped:
        with pytest.raises(StopRun, match=re.escape(str(caught.value))):
            ask(generator, cell)
    assert isinstance(caught.value, StopRun) == bool(stopped)
    assert ("temperature: provider-default" in caught.value.hint) == (name in STOPS_MODEL[1:])
    assert len(endpoint.requests) == 1
    if name not in STOPS_RUN:
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
    assert caught.value.hint and generator.budget.spent_usd == 0
