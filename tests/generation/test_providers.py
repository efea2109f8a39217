"""The seam of the wires: a wire of another kind can be asked, with all that keeps an answer from being lost."""

import json
import traceback
from typing import ClassVar

from fluency.common.paths import ROOT
from fluency.generation.failure import Failure
from fluency.generation.providers import PROVIDERS
from fluency.generation.providers.sdk_provider import Provider, Reply
from fluency.generation.reply import Reading
from tests.generation.studies import ask, cells_of, generator_of, study_of


class Echo(Provider):
    """A wire of one's own, without a network and without batches: it fails once and then says the prompt."""

    name, server = "echo 1.0", "nowhere"
    failures = 1
    frames: ClassVar[list[str]] = []

    def __init__(self, access) -> None: ...

    @staticmethod
    def address(model, url, where):
        return url, ""

    @staticmethod
    def read(message, tool) -> Reading:
        usage = {"input_tokens": 1, "output_tokens": 2}
        said = message["said"]
        return Reading(outcome="ok", text=said, raw=message, stop_reason="end", model_echoed=None, usage=usage)

    def prepare(self, request, seconds):
        return request

    def send(self, call, seconds):
        assert seconds > 1
        stack = traceback.extract_stack()
        self.frames[:] = [frame.name for frame in stack if frame.filename.startswith(f"{ROOT}/scripts/")]
        if self.failures:
            self.failures -= 1
            raise Failure("busy", scope="retry")
        return Reply(json.dumps({"said": call.prompt}).encode(), 0.25)

    def close(self) -> None: ...


def test_a_wire_of_another_kind_is_asked_retried_and_kept(endpoint, store, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "messages", Echo)
    study = study_of()
    cell = cells_of(study)[0]
    record = ask(generator_of(study, store, endpoint), cell)
    assert record.answer.text == f"Answer for {cell.path}"
    assert (record.answer.client, record.answer.server, record.answer.attempts) == ("echo 1.0", "nowhere", 2)
    assert record.answer.latency_s == 0.25 and record.cost_usd is not None
    assert ask(generator_of(study, store, endpoint), cell) == record
    assert Echo.frames == ["generate", "answer", "_ask", "_attempts", "_call"], "none of them only passes on"
