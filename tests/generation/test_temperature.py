"""A refused temperature ends the asking of that model, whatever an older config says."""

from __future__ import annotations

import pytest

from fluency.common.errors import StopRun
from tests.generation.studies import ask, cells_of, generator_of, study_of

TEXTS = ["refused-temperature", "extra-inputs", "temperature-thinking"]


def with_temperature(seen) -> bool:
    return "temperature" in seen.body


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("rule", ["stop", "provider-default"])
def test_the_run_stops_with_what_to_put_into_the_config(text, rule, endpoint, store):
    model = {"alias": "sonnet", "id": "claude-sonnet-4-6", "on_refused_temperature": rule}
    generator = generator_of(study_of(model), store, endpoint)
    endpoint.when(with_temperature, text)
    for cell in cells_of(generator.study)[:3]:
        with pytest.raises(StopRun) as caught:
            ask(generator, cell)
        assert "temperature: provider-default" in caught.value.hint
    assert len(endpoint.requests) == 1


def test_a_model_that_is_sent_none_does_not_loop_over_words_about_it(endpoint, store):
    generator = generator_of(study_of({"alias": "opus", "id": "claude-opus-4-7"}), store, endpoint)
    endpoint.always("refused-temperature")
    with pytest.raises(StopRun):
        ask(generator, cells_of(generator.study)[0])
    assert len(endpoint.requests) == 1
