"""The policy table, what the config lays over it, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig
from fluency.generation.policies import resolve, table
from fluency.generation.providers.messages import body_of
from fluency.generation.request import request_for, request_key
from tests.generation.studies import cells_of, study_of

PRICE = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2, "dated": "2026-11-01"}
TAKE_TEMPERATURE = {"haiku-4-5", "sonnet-4-5", "opus-4-5", "sonnet-4-6", "opus-4-6"}
REFUSE = {"opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "sonnet-5-5", "haiku-5-5", "opus-5-5"}
REFUSE |= {"fable-5", "fable-5-1", "fable-5-2"}


def model(**entry) -> ModelConfig:
    return ModelConfig.model_validate({"alias": "m", "id": "claude-sonnet-4-6"} | entry)


def test_the_table_holds_every_model_with_price_and_temperature():
    undated = {name for name in table()["models"] if not name[-8:].isdigit()}
    assert undated == {f"claude-{name}" for name in TAKE_TEMPERATURE | REFUSE}
    for name in table()["models"]:
        policy = resolve(model(id=name))
        takes = any(name.startswith(f"claude-{short}") for short in TAKE_TEMPERATURE)
        assert policy.temperature_sent == (0.7 if takes else None)
        assert policy.headers == {"anthropic-version": "2023-06-01" if takes else "2026-10-21"}
        assert policy.price.output_usd_per_mtok > policy.price.input_usd_per_mtok > 0
        assert policy.max_tokens >= (8192 if policy.effort else 1024)
        assert not (takes and policy.thinking)


def test_always_thinking_models_are_given_room_and_the_lowest_effort():
    for name in ("claude-opus-5-5", "claude-fable-5", "claude-fable-5-1", "claude-fable-5-2"):
        policy = resolve(model(id=name))
        assert (policy.thinking, policy.effort) == (None, "low")
    assert resolve(model(id="claude-sonnet-5-5")).thinking == {"type": "between_tools"}
    assert resolve(model(id="claude-haiku-5-5")).thinking == {"type": "disabled"}


def test_the_config_overlays_the_table():
    policy = resolve(
        model(temperature="provider-default", max_tokens=77, effort="low", price=PRICE, extra_headers={"X-Team": "a"})
    )
    assert (policy.temperature_sent, policy.max_tokens, policy.effort) == (None, 77, "low")
    assert policy.headers == {"anthropic-version": "2026-10-21", "x-team": "a"}
    assert policy.price.input_usd_per_mtok == 1
    assert resolve(model(temperature=0)).temperature_sent == 0.0
    assert resolve(model(id="claude-opus-4-7", temperature=0.3)).temperature_sent == 0.3


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({}, "temperature, max_tokens, price"),
        ({"temperature": 0.7}, "max_tokens, price"),
        ({"temperature": 0.7, "max_tokens": 100}, "price"),
        ({"temperature": 0.7, "price": PRICE}, "max_tokens"),
        ({"key_required": False}, "temperature, max_tokens"),
    ],
)
def test_an_unknown_model_needs_its_policy_in_the_config(entry, named):
    with pytest.raises(UserError) as caught:
        resolve(model(id="some/other-model", **entry))
    assert caught.value.what.endswith(named)
    assert caught.value.where == "models: m"


def test_a_local_model_needs_no_price():
    policy = resolve(model(id="llama", temperature=0.7, max_tokens=100, key_required=False))
    assert policy.price is None and policy.cost(1000, 1000) is None


@pytest.mark.parametrize(
    "entry",
    [
        {"extra_body": {"temperature": 1}},
        {"extra_body": {"messages": []}},
        {"extra_headers": {"X-Api-Key": "sk-ant-0123456789"}},
        {"extra_headers": {"Authorization": "Bearer abc"}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ],
)
def test_what_would_make_the_record_untrue_is_refused(entry):
    with pytest.raises(UserError):
        resolve(model(**entry))


def test_batches_cost_half():
    policy = resolve(model(price=PRICE))
    assert policy.cost(1_000_000, 1_000_000) == 3
    assert policy.cost(1_000_000, 1_000_000, "batch") == 1.5


def test_a_request_holds_what_is_sent_and_its_key_changes_with_each_part():
    base = study_of({"alias": "m", "id": "claude-sonnet-4-6"})
    cell = cells_of(base)[0]
    request = request_for(base, cell, "prompt")
    assert body_of(request) == {
        "model": "claude-sonnet-4-6",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "prompt"}],
        "temperature": 0.7,
    }
    keys = {request_key(request), request_key(request_for(base, cell, "prompt "))}
    keys.add(request_key(request_for(base, replace(cell, trial=2), "prompt")))
    for entry in (
        {"id": "claude-haiku-4-5"},
        {"temperature": 0.6},
        {"max_tokens": 5},
        {"effort": "low"},
        {"thinking": {"type": "disabled"}},
        {"extra_body": {"top_k": 5}},
        {"extra_headers": {"x": "y"}},
    ):
        other = study_of({"alias": "m", "id": "claude-sonnet-4-6"} | entry)
        keys.add(request_key(request_for(other, cell, "prompt")))
    assert len(keys) == 10
    # Nothing but the request counts: not the alias, the address, the price, the rate or the shell's name.
    renamed = study_of({"alias": "n", "id": "claude-sonnet-4-6", "base_url": "http://x", "price": PRICE})
    assert request_key(request_for(renamed, replace(cell, model="n"), "prompt")) == request_key(request)


def test_keys_bought_today_are_found_tomorrow():
    """The canonical form is frozen: were this hash to change, every answer ever bought would be asked for again."""
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6"})
    assert request_key(request_for(study, cells_of(study)[0], "prompt")) == (
        "02a095230bb89a46c29311d957ff6052907744d12657d7eb70b7878b98c130ec"
    )


def test_the_order_mixes_the_shells_evenly_and_follows_the_seed():
    study = study_of(trials=5)
    cells = sorted(cells_of(study, tasks=20), key=study.priority)
    first_half = [cell.shell for cell in cells[:100]].count("bash")
    assert 35 <= first_half <= 65
    longest = max(
        len(run) for run in "".join(cell.shell[0] for cell in cells).replace("bp", "b p").replace("pb", "p b").split()
    )
    assert longest < 15
    other = study_of(trials=5, order_seed=1)
    assert cells != sorted(cells, key=other.priority)
    assert len(set(map(study.priority, cells))) == 200
