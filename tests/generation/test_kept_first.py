"""An answer is kept before anything else can fail, and nobody asks beside a probe that has not been answered."""

from __future__ import annotations

import json
import os
import sys

import pytest

from fluency.common.errors import StopRun
from fluency.common.terminal import log_line
from fluency.generation.audit import verify
from fluency.generation.budget import Budget
from fluency.generation.failure import Failure
from fluency.generation.providers import PROVIDERS
from fluency.generation.providers.messages import MessagesProvider
from fluency.generation.reply import DEEPER
from tests.generation.endpoint import Reply, message
from tests.generation.studies import ask, cells_of, generator_of, study_of
from tests.generation.test_pace import ask_all

SLOWER = {"alias": "m", "id": "claude-sonnet-4-6", "in_flight": 8}


@pytest.mark.parametrize(("name", "attempts"), [("truncated-json", 3), ("overloaded", 4), ("reset-after", 4)])
def test_while_the_probe_waits_between_attempts_nobody_else_asks(name, attempts, endpoint, store):
    study = study_of(SLOWER)
    endpoint.always(name)
    raised = ask_all(generator_of(study, store, endpoint), cells_of(study))
    assert all(isinstance(error, StopRun) for error in raised)
    assert len(endpoint.requests) == attempts
    assert len(set(endpoint.prompts)) == 1


def test_the_others_go_as_soon_as_the_probe_is_answered(endpoint, store):
    study = study_of(SLOWER)
    endpoint.script("overloaded", "html", Reply(first_byte_s=0.2)).always(Reply(first_byte_s=0.1))
    assert not any(ask_all(generator_of(study, store, endpoint), cells_of(study)))
    assert len(set(endpoint.prompts[:3])) == 1
    assert endpoint.requests[3].at - endpoint.requests[2].at >= 0.2
    assert endpoint.most_at_once > 1


def test_a_probe_whose_temperature_is_refused_goes_again_without_one(endpoint, store):
    study = study_of(SLOWER | {"on_refused_temperature": "provider-default"})
    endpoint.script("refused-temperature")
    assert not any(ask_all(generator_of(study, store, endpoint), cells_of(study)))
    assert len(endpoint.requests) == 13


def test_counting_that_fails_loses_no_answer(endpoint, store, monkeypatch):
    study = study_of()
    cell = cells_of(study)[0]

    def overflow(*arguments, **options):
        raise OverflowError("int too large to convert to float")

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "add", overflow)
        with pytest.raises(OverflowError):
            ask(generator_of(study, store, endpoint), cell)
    assert verify(store).sound == 1
    assert ask(generator_of(study, store, endpoint), cell).answer.text == "ls -la"
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_a_voice_that_fails_loses_no_answer(error, endpoint, store, monkeypatch):
    study = study_of()
    cell = cells_of(study)[0]
    endpoint.script("wrong-model")

    def closed(text: str) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("fluency.generation.context.log_line", closed)
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


def test_a_connection_that_fails_after_the_last_byte_costs_no_second_call(endpoint, store, monkeypatch):
    class Breaking(MessagesProvider):
        def ask(self, request, budget_s, keep):
            super().ask(request, budget_s, keep)
            raise Failure("the connection failed", scope="retry")

    monkeypatch.setitem(PROVIDERS, "messages", Breaking)
    study = study_of()
    generator = generator_of(study, store, endpoint)
    record = ask(generator, cells_of(study)[0])
    assert len(endpoint.requests) == 1
    assert generator.budget.spent_usd == record.cost_usd


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
    assert verify(store).sound == 1 and not verify(store).waiting
