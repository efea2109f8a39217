"""An answer is kept before anything else can fail, and nobody asks while a model's first call has no answer."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluency.common.errors import StopRun
from fluency.common.terminal import log_line
from fluency.generation import model_session
from fluency.generation.audit import verify
from fluency.generation.reply import DEEPER
from tests.generation.endpoint import Reply, message
from tests.generation.studies import ask, cells_of, generator_of, study_of
from tests.generation.test_pace import ask_all

SLOWER = {"alias": "m", "id": "claude-sonnet-4-6", "in_flight": 8}


@pytest.mark.parametrize(("name", "attempts"), [("truncated-json", 3), ("overloaded", 4), ("reset-after", 4)])
def test_while_the_first_call_waits_between_attempts_nobody_else_asks(name, attempts, endpoint, store):
    study = study_of(SLOWER)
    endpoint.always(name)
    raised = ask_all(generator_of(study, store, endpoint), cells_of(study))
    assert all(isinstance(error, StopRun) for error in raised)
    assert len(endpoint.requests) == attempts
    assert len(set(endpoint.prompts)) == 1


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
    with ThreadPoolExecutor(24) as pool:
        asked = lambda cell: generator.generate(cell, f"{cell.shell} {cell.task}", "0" * 64)  # noqa: E731 - no alias in it
        records = list(pool.map(asked, cells_of(study)))
    assert len(endpoint.requests) == 12 == verify(store).sound and len(records) == 24


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_a_terminal_that_fails_loses_no_answer(error, endpoint, store, monkeypatch):
    study = study_of()
    cell = cells_of(study)[0]
    endpoint.script("wrong-model")

    def closed(text: str) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("fluency.generation.model_session.log_line", closed)
        with pytest.raises(type(error)):
            ask(generator_of(study, store, endpoint), cell)
    assert ask(generator_of(study, store, endpoint), cell).answer.model_echoed == "another-model"
    assert len(endpoint.requests) == 1


def test_a_closed_terminal_ends_nothing(monkeypatch):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as nobody_reads:
        monkeypatch.setattr(sys, "stderr", nobody_reads)
        log_line("hello")
        os.dup2(os.open(os.devnull, os.O_WRONLY), write_end)  # for what is still in the buffer
    log_line("hello")


@pytest.mark.parametrize("levels", [60, 70, 200, 450, 700, 900, 20_000])
def test_a_reply_that_nests_deeply_is_an_answer_or_asked_again_in_this_run(levels, endpoint, store):
    study = study_of()
    cell = cells_of(study)[0]
    nested = json.dumps(message(usage={"input_tokens": 1, "output_tokens": 1, "x": 7})).replace(
        "7", "[" * levels + "]" * levels
    )
    endpoint.script(Reply(body=nested.encode()))
    record = ask(generator_of(study, store, endpoint), cell)
    assert record.answer.text == "ls -la"
    assert len(endpoint.requests) == (2 if levels > 1000 else 1)
    assert (DEEPER in json.dumps(record.answer.raw)) == (64 <= levels <= 1000)
    assert verify(store).sound == 1


def test_a_reply_that_a_bug_fails_to_read_counts_and_is_asked_for_again(endpoint, store, monkeypatch):
    read, failures = model_session.answer_of, [AttributeError("a bug")]

    def broken_once(*arguments):
        if failures:
            raise failures.pop()
        return read(*arguments)

    monkeypatch.setattr(model_session, "answer_of", broken_once)
    generator = generator_of(study_of(), store, endpoint)
    record = ask(generator, cells_of(generator.study)[0])
    assert (record.answer.attempts, len(endpoint.requests)) == (2, 2)
    assert generator.budget.spent_usd > record.cost_usd > 0
