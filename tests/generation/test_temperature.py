"""A refused temperature: for all of a model's cells or for none."""

from __future__ import annotations

import pytest

from fluency.common.errors import StopRun
from tests.generation.studies import ask, cells_of, generator_of, study_of

TEXTS = ["refused-temperature", "extra-inputs", "temperature-thinking"]


def with_temperature(seen) -> bool:
    return "temperature" in seen.body


@pytest.mark.parametrize("text", TEXTS)
def test_the_run_stops_with_what_to_put_into_the_config(text, endpoint, store):
    generator = generator_of(study_of(), store, endpoint)
    endpoint.when(with_temperature, text)
    for cell in cells_of(generator.study)[:3]:
        with pytest.raises(StopRun) as caught:
            ask(generator, cell)
        assert "temperature: provider-default" in caught.value.hint
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("text", TEXTS)
def test_if_the_config_says_so_all_cells_go_without_now_and_later(text, endpoint, store, capsys):
    entry = {"alias": "sonnet", "id": "claude-sonnet-4-6", "on_refused_temperature": "provider-default"}
    study = study_of(entry)
    endpoint.when(with_temperature, text)
    generator = generator_of(study, store, endpoint)
    cells = cells_of(study)
    records = [ask(generator, cell) for cell in cells[:3]]
    assert len(endpoint.requests) == 4
    later = generator_of(study, store, endpoint)
    records += [ask(later, cell) for cell in cells[2:5]]
    assert len(endpoint.requests) == 6
    assert [record.answer.request.temperature for record in records] == [None] * 6
    assert {record.temperature_requested for record in records} == {0.7}
    assert endpoint.requests[-1].headers["anthropic-version"] == "2026-10-21"
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_answers_with_and_without_a_temperature_are_never_mixed(endpoint, store):
    study = study_of({"alias": "sonnet", "id": "claude-sonnet-4-6", "on_refused_temperature": "provider-default"})
    generator = generator_of(study, store, endpoint)
    cells = cells_of(study)
    ask(generator, cells[0])
    endpoint.when(with_temperature, "refused-temperature")
    with pytest.raises(StopRun, match="must not be mixed"):
        ask(generator, cells[1])
    assert len(endpoint.requests) == 2


def test_a_model_that_is_sent_none_does_not_loop_over_words_about_it(endpoint, store):
    generator = generator_of(study_of({"alias": "opus", "id": "claude-opus-4-7"}), store, endpoint)
    endpoint.always("refused-temperature")
    with pytest.raises(StopRun):
        ask(generator, cells_of(generator.study)[0])
    assert len(endpoint.requests) == 1
