"""What the Models API says, held against the policy table; and that a plan without a key or a service goes on."""

from __future__ import annotations

import pytest

from fluency.generation.budget import cost_of, upper_bound_usd
from fluency.generation.model_check import disagreements, service_says
from fluency.generation.policies import resolve, table
from fluency.generation.sampling_words import sampling_words
from tests.generation.endpoint import Reply, error, message
from tests.generation.studies import ENVIRON, KEY, ask, cells_of, generator_of, study_of

YES, NO = {"supported": True}, {"supported": False}


def told(**over):
    thinking = {"supported": True, "types": {"adaptive": YES, "between_tools": NO, "disabled": YES, "enabled": NO}}
    effort = {"supported": True, "low": YES, "medium": YES, "high": YES, "xhigh": NO, "max": NO}
    values = {
        "type": "model",
        "id": "claude-opus-5",
        "display_name": "Opus 5",
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_tokens": 64000,
        "capabilities": {"batch": YES, "thinking": thinking, "effort": effort},
    }
    return values | over


def with_capability(**capabilities):
    return told(capabilities=told()["capabilities"] | capabilities)


OPUS = {"alias": "opus", "id": "claude-opus-5"}


def policy(**over):
    return resolve(study_of(OPUS | over).models[0])


def test_the_table_and_the_service_agree():
    assert disagreements(told(), policy(), "batch") == []
    assert disagreements({"type": "model"}, policy(), "batch") == []  # what is not told contradicts nothing


@pytest.mark.parametrize(
    ("said", "over", "transport", "words"),
    [
        (told(lifecycle="retired"), {}, "messages", "has retired"),
        (told(lifecycle="deprecated", retires_at="2026-12-01T00:00:00Z"), {}, "messages", "on 2026-12-01"),
        (told(max_tokens=512), {}, "messages", "max_tokens is 1024, and the service gives 512"),
        (with_capability(thinking={"types": {"disabled": NO}}), {}, "messages", "thinking disabled"),
        (told(), {"effort": "max"}, "messages", "effort max"),
        (with_capability(effort=NO), {}, "messages", "it takes none"),
        (told(), {"id": "claude-haiku-4-5"}, "messages", "it takes no effort, the service that it does"),
        (with_capability(batch=NO), {}, "batch", "takes none of this model"),
        (with_capability(temperature=NO), {"id": "claude-sonnet-4-6"}, "messages", "temperature 0.7"),
    ],
)
def test_every_disagreement_is_named(said, over, transport, words):
    (found,) = disagreements(said, policy(**over), transport)
    assert found.startswith("DISAGREES: ") and words in found


def models_api(endpoint, reply):
    """Have the endpoint answer GET /v1/models/… so."""
    others = endpoint.reply_to
    endpoint.reply_to = lambda seen: reply if seen.path.startswith("/v1/models/") else others(seen)


def test_the_service_is_asked_with_the_key_and_its_words_are_printed(endpoint):
    models_api(endpoint, Reply(body=told(max_tokens=512)))
    study = study_of(
        OPUS | {"base_url": endpoint.url},
        {"alias": "chat", "id": "x", "wire": "chat", "key_required": False, "temperature": 0.7, "max_tokens": 9},
    )
    first, second = service_says(study.models, ENVIRON)
    assert first == (
        "opus: active, up to 512 tokens, effort low, medium, high, thinking adaptive, disabled, nothing said of "
        "sampling, which the first call will tell"
    )
    assert second == "opus: DISAGREES: max_tokens is 1024, and the service gives 512 at most"
    (seen,) = endpoint.requests
    assert (seen.method, seen.path) == ("GET", "/v1/models/claude-opus-5")
    assert seen.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error(401, "authentication_error", f"bad key {KEY}"), "the key was not accepted"),
        (error(404, "not_found_error", "no such model"), "no such model"),
        (Reply(body={"object": "model", "id": "x"}), "has no Models API in the provider's form"),
        (Reply(body=b"<html>"), "a web page"),
        (Reply(reset="after"), "the connection failed"),
    ],
)
def test_a_service_that_says_nothing_stops_no_plan(reply, words, endpoint):
    models_api(endpoint, reply)
    (line,) = service_says(study_of(OPUS | {"base_url": endpoint.url}).models, ENVIRON)
    assert words in line and KEY not in line


def test_without_a_key_nobody_is_asked(endpoint):
    study = study_of(OPUS | {"base_url": endpoint.url})
    assert service_says(study.models, {}) == ["opus: not asked, since ANTHROPIC_API_KEY is not set"]
    own = study_of(OPUS | {"base_url": endpoint.url, "key_required": False})
    assert service_says(own.models, ENVIRON) == []
    embedded = study_of({"alias": "q", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"})
    assert service_says(embedded.models, {}) == [] and endpoint.requests == []


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({}, "effort not sent (the service's default, high)"),
        ({"id": "claude-haiku-5-5"}, "effort not sent (the service's default, medium)"),
        ({"effort": "low"}, "effort low"),
        ({"id": "claude-opus-5-5"}, "effort low"),
        ({"id": "claude-haiku-4-5"}, "takes no effort"),
        ({"id": "claude-opus-4-5"}, "effort not sent (the service's default)"),
    ],
)
def test_the_plan_states_the_effort(over, words):
    assert words in sampling_words(policy(**over))


def test_the_place_of_computing_is_priced(endpoint, store):
    study = study_of()
    usage = {"input_tokens": 1000, "output_tokens": 100}
    costs = {}
    for geo, cell in zip(("us", "global", None), cells_of(study), strict=False):
        endpoint.script(Reply(body=message(usage=usage | ({"inference_geo": geo} if geo else {}))))
        costs[geo] = ask(generator_of(study, store, endpoint), cell).cost_usd
    assert costs["global"] == costs[None] and costs["us"] == pytest.approx(costs[None] * 1.1)
    plain, asked = (
        resolve(study_of({"alias": "m", "id": "claude-sonnet-4-6"} | more).models[0])
        for more in ({}, {"extra_body": {"inference_geo": "us"}})
    )
    assert upper_bound_usd(asked, "x") == pytest.approx(upper_bound_usd(plain, "x") * 1.1)
    assert cost_of(plain, next(store.entries())) is not None


@pytest.mark.parametrize(("price", "cost"), [(0, 0.0), (3, None)])
def test_what_costs_nothing_costs_nothing_also_where_nobody_counted(price, cost, endpoint, store):
    study = study_of()
    endpoint.always(Reply(body=message(usage={})))
    ask(generator_of(study, store, endpoint), cells_of(study)[0])
    (answer,) = store.entries()
    priced = {
        "temperature": 0.7,
        "max_tokens": 64,
        "price": {"input_usd_per_mtok": price, "output_usd_per_mtok": price, "dated": "2026-11-01"},
    }
    assert answer.usage.input_tokens is None
    assert cost_of(resolve(study_of({"alias": "m", "id": "x"} | priced).models[0]), answer) == cost


def test_a_model_that_always_thinks_cannot_be_made_to_call():
    from fluency.common.errors import UserError

    for name, entry in table()["models"].items():
        asked = study_of({"alias": "m", "id": name, "interface": "tool"}).models[0]
        if entry.get("always_thinks"):
            with pytest.raises(UserError, match="a forced tool call cannot go with thinking"):
                resolve(asked)
        else:
            assert resolve(asked).model_id == name
