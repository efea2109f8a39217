"""The policy table, what the config changes of it, and the estimate of a study's calls."""

import re
from dataclasses import replace
from itertools import groupby

import pytest
import yaml
from pydantic import ValidationError

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.study import PILOT, ModelConfig, Study, read_study
from fluency.core.tasks import load_tasks
from fluency.generation.cost_estimate import estimate_cost
from fluency.generation.policies import TABLE, resolve
from fluency.generation.providers import PROVIDERS
from fluency.generation.request import PREAMBLE, build_prompt, request_for
from fluency.generation.store import AnswerStore
from fluency.report.templates import REPAIRED_SHARE
from fluency.workflow.preflight import missing_keys
from fluency.workflow.run_plan import render_plan
from tests.generation.studies import ask, cells_of, generator_of, study_of

PRICE = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2, "dated": "2026-11-01"}
TAKE_TEMPERATURE = {"haiku-4-5", "sonnet-4-5", "opus-4-5", "sonnet-4-6", "opus-4-6"}
REFUSE = {"opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "sonnet-5-5", "haiku-5-5", "opus-5-5"}
REFUSE |= {"fable-5", "fable-5-1", "fable-5-2"}


def model(**entry) -> ModelConfig:
    return ModelConfig.model_validate({"alias": "m", "id": "claude-sonnet-4-6"} | entry)


def test_the_table_holds_every_model_with_price_and_temperature():
    undated = {name for name in TABLE["models"] if not name[-8:].isdigit()}
    assert undated == {f"claude-{name}" for name in TAKE_TEMPERATURE | REFUSE}
    for name in TABLE["models"]:
        policy = resolve(model(id=name))
        takes = any(name.startswith(f"claude-{short}") for short in TAKE_TEMPERATURE)
        assert policy.temperature_sent == (0.7 if takes else None)
        assert policy.headers == {"anthropic-version": "2023-06-01" if takes else "2026-10-21"}
        assert policy.price.output_usd_per_mtok > policy.price.input_usd_per_mtok > 0
        assert policy.max_tokens >= (8192 if policy.effort else 1024)
        assert not (takes and policy.thinking)
        if policy.expected_output_tokens > 60:  # it always thinks
            assert (policy.thinking, policy.effort) == (None, "low")
    assert resolve(model(id="claude-sonnet-5-5")).thinking == {"type": "between_tools"}


def test_the_config_overlays_the_table():
    own = {"temperature": "provider-default", "max_tokens": 77, "effort": "low", "price": PRICE}
    policy = resolve(model(extra_headers={"X-Team": "a"}, **own))
    assert (policy.temperature_sent, policy.max_tokens, policy.effort) == (None, 77, "low")
    assert policy.headers == {"anthropic-version": "2026-10-21", "x-team": "a"}
    assert policy.price.input_usd_per_mtok == 1
    assert resolve(model(temperature=0)).temperature_sent == 0.0
    kept = {"x-author": "me", "stop_token_ids": [1], "tokenizer": "a", "auth": "Basic $MY_AUTH"}
    kept |= {"stream": False}
    assert resolve(model(extra_body=kept)).extra_body == kept
    for url, warned in (("http://gateway", True), ("http://[::1]:1", False), ("https://a", False)):
        assert ("without encryption" in resolve(model(base_url=url)).note) == warned
    assert resolve(model(base_url="http://gateway", key_required=False)).note == ""


UNKNOWN = {
    "temperature, max_tokens, price": {},
    "max_tokens, price": {"temperature": 0.7},
    "max_tokens": {"temperature": 0.7, "price": PRICE},
    "temperature, max_tokens": {"key_required": False},
}


@pytest.mark.parametrize("named", UNKNOWN)
def test_an_unknown_model_needs_its_policy_in_the_config(named):
    entry = {"id": "some/other-model"} | UNKNOWN[named]
    with pytest.raises(UserError) as caught:
        resolve(model(**entry))
    assert caught.value.what.endswith(f"its {named}") and caught.value.where == "models: m"
    pasted = yaml.safe_load(str(caught.value).partition("entry:\n")[2])
    assert list(pasted) == named.split(", ")
    assert resolve(model(**entry, **pasted)).max_tokens == 8192


THINKS = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    "key, entry",
    [
        ("extra_body", {"extra_body": {"temperature": 1}}),
        ("extra_body", {"extra_body": {"messages": []}}),
        ("extra_body", {"extra_body": {"stream": True}}),
        ("extra_headers", {"extra_headers": {"X-Api-Key": "sk-ant-0123456789"}}),
        ("extra_headers", {"extra_headers": {"Authorization": "Bearer abc"}}),
        ("extra_headers", {"extra_headers": {"X-Goog-Api-Key": "AIza012345"}}),
        ("extra_headers", {"extra_headers": {"x-session-token": "Bearer $lower"}}),
        ("extra_body", {"extra_body": {"provider": {"clientSecret": "abc"}}}),
        ("extra_body", {"extra_body": {"credentials": [{"value": "$A $B"}]}}),
        ("temperature", {"thinking": THINKS, "max_tokens": 2048}),
        ("thinking", {"id": "claude-opus-5-5", "thinking": {"type": "disabled"}}),
        ("effort", {"id": "claude-haiku-4-5", "effort": "low"}),
        ("interface", {"interface": "tool", "temperature": 1.0, "thinking": {"type": "adaptive"}}),
        ("interface", {"interface": "tool", "served_by": "embedded"}),
        ("thinking", {"wire": "chat", "thinking": {"type": "disabled"}}),
    ],
)
def test_what_cannot_be_sent_or_would_make_the_record_untrue_is_refused(key, entry):
    with pytest.raises(UserError) as caught:
        resolve(model(**entry))
    assert caught.value.where == f"models: m: {key}" and caught.value.hint


@pytest.mark.parametrize(
    "says, entry",
    [
        ("extra_headers.x-team", {"extra_headers": {"x-team": "a\nb"}}),
        ("extra_headers.x team", {"extra_headers": {"x team": "a"}}),
        ("needs a region", {"wire": "bedrock"}),
        ("needs a region", {"wire": "vertex", "project": "mine"}),
        ("needs a project", {"wire": "vertex", "region": "global"}),
    ],
)
def test_entry_that_can_be_no_request_is_refused_as_it_is_read(says, entry):
    with pytest.raises(ValidationError, match=says):
        model(**entry)


def test_a_request_holds_what_is_sent_and_its_key_changes_with_each_part():
    base = study_of({"alias": "m", "id": "claude-sonnet-4-6"})
    cell = cells_of(base)[0]
    request = request_for(base, cell, "prompt")
    said = {"model": "claude-sonnet-4-6", "messages": [{"role": "user", "content": "prompt"}]}
    wire = object.__new__(PROVIDERS["messages"])
    assert wire.body(request) == said | {
        "max_tokens": 1024,
        "temperature": 0.7,
        "stream": False,
    }
    keys = {request.key, request_for(base, cell, "prompt ").key}
    keys.add(request_for(base, replace(cell, trial=2), "prompt").key)
    changes = [{"id": "claude-haiku-4-5"}, {"temperature": 0.6}, {"max_tokens": 5}]
    changes += [{"effort": "low"}, {"thinking": {"type": "disabled"}}]
    changes += [{"extra_body": {"top_k": 5}}, {"extra_headers": {"x": "y"}}]
    place = {"region": "us", "project": "mine"}
    changes += [{"wire": wire} | place for wire in ("chat", "bedrock", "vertex")]
    for entry in changes:
        other = study_of({"alias": "m", "id": "claude-sonnet-4-6"} | entry)
        keys.add(request_for(other, cell, "prompt").key)
    assert len(keys) == 13
    # Nothing but the request counts: not the alias, the address, the price or the rate.
    entry = {"alias": "n", "id": "claude-sonnet-4-6", "base_url": "http://x", "price": PRICE}
    renamed = request_for(study_of(entry), replace(cell, model="n"), "prompt")
    # The canonical form is frozen: with another hash every answer would be asked for again.
    frozen = "a971570d5fd76c654a32f883862694f2ddddd09359d20d75f694641a53665469"
    assert renamed.key == request.key == frozen


def test_the_order_mixes_the_shells_evenly_and_follows_the_seed():
    study = study_of(trials=5)
    cells = sorted(cells_of(study, tasks=20), key=study.priority)
    first_half = [cell.shell for cell in cells[:100]].count("bash")
    assert 35 <= first_half <= 65
    assert max(len(list(run)) for _, run in groupby(cell.shell for cell in cells)) < 15
    other = study_of(trials=5, order_seed=1)
    assert cells != sorted(cells, key=other.priority)
    assert len(set(map(study.priority, cells))) == 200


TASKS = load_tasks(PILOT)
OPUS = {"alias": "opus", "id": "claude-opus-4-7", "requests_per_minute": 45}


@pytest.fixture
def paid():
    sonnet = {"alias": "sonnet", "id": "claude-sonnet-4-6", "requests_per_minute": 45}
    return study_of(OPUS, sonnet, trials=5)


def bounds(study: Study, price_in, price_out):
    """Dollars of one model's 200 calls, at least and at most, by hand: 2 to 6 bytes a token."""
    prompts = [build_prompt(task.prompt, shell) for task in TASKS for shell in study.shells]
    size = sum(len(prompt.encode()) for prompt in prompts) * study.trials
    calls = len(TASKS) * 2 * study.trials
    least = size / 6 * price_in / 1e6
    return least, ((size / 2 + 32 * calls) * price_in + calls * 1024 * price_out) / 1e6


def test_the_study_as_designed_costs_what_its_author_said(paid, store):
    made = estimate_cost(paid, TASKS, store)
    assert made.calls == 400 and [model.calls for model in made.models] == [200, 200]
    for model, (price_in, price_out) in zip(made.models, [(5, 25), (3, 15)], strict=True):
        least, most = bounds(paid, price_in, price_out)
        assert least < model.expected_usd < model.most_usd
        assert most * 0.999 <= model.most_usd <= most * 1.0001
        assert model.minutes == pytest.approx(200 / 45)
    assert made.models[0].expected_usd < 5  # under $5 at Opus prices


def test_the_readme_states_the_price_that_the_plan_computes():
    prices = []
    for name in ("study", "study-60", "study-demanding", "study-full"):
        study = read_study(f"config/{name}.yaml")
        nothing = AnswerStore(TASKS[0].folder / "none")
        made = estimate_cost(study, load_tasks(study.tasks), nothing)
        prices.append((f"{made.expected_usd:.2f}", f"{made.most_usd:.2f}"))
    readme = (ROOT / "README.md").read_text()
    assert re.findall(r"\| \$([\d.]+) \| \$(\d+\.\d+) \|", readme) == prices


def test_the_committed_study_costs_nothing_and_needs_no_key():
    made = estimate_cost(read_study(), TASKS, AnswerStore(TASKS[0].folder / "none"))
    assert (
        made.most_usd == 0 and missing_keys(made) == [] and "cost     nothing" in render_plan(made)
    )
    says = "of studies end with tasks that are easy for both"
    assert says in render_plan(made)


@pytest.mark.parametrize("turns", [1, 3])
def test_the_plan_prices_each_turn_and_says_what_turns_can_show(turns, store):
    made = estimate_cost(study_of(OPUS, turns=turns), TASKS, store)
    text, said = render_plan(made), "With 68 tasks the gap after turn 3 is as uncertain"
    assert (said in text and REPAIRED_SHARE in text) == (turns == 3)
    assert re.findall(r"^  turn (\d) ", text, re.M) == ["1", "2", "3"][: turns - 1 and turns]
    (opus,) = made.models
    assert sum(share.calls for share in opus.turns) == opus.calls == turns * len(TASKS) * 2 * 3


def test_stored_answers_are_not_asked_again_and_teach_the_expectation(paid, store, endpoint):
    endpoint.answer = lambda prompt: "x" * 300  # a hundred tokens by the endpoint's count
    # The rate is not part of a request.
    fast = study_of(OPUS | {"requests_per_minute": 1_000_000}, trials=5)
    generator, texts = generator_of(fast, store, endpoint), {task.id: task.prompt for task in TASKS}
    cells = [cell for cell in paid.cells(list(texts)) if cell.model == "opus"]
    for cell in cells[:20]:
        ask(generator, cell, build_prompt(texts[cell.task], cell.shell))
    made = estimate_cost(paid, TASKS, store)
    opus, sonnet = made.models
    assert (opus.answered, opus.calls, sonnet.answered) == (20, 180, 0)
    assert opus.spent_usd == generator.budget.spent_usd
    assert opus.spent_usd == pytest.approx(20 * (120 * 5 + 100 * 25) / 1e6)
    assert opus.expected_usd == pytest.approx((opus.input_tokens * 5 + 180 * 100 * 25) / 1e6)


def test_a_model_that_is_not_in_the_table_is_expected_to_write_sixty_tokens(store):
    price = {"input_usd_per_mtok": 0, "output_usd_per_mtok": 10, "dated": "2026-11-01"}
    own = {"alias": "own", "id": "own", "temperature": 0.7, "max_tokens": 64, "price": price}
    (found,) = estimate_cost(study_of(own, trials=1), TASKS[:3], store).models
    assert found.expected_usd == pytest.approx(6 * 60 * 10 / 1e6)


def test_both_shells_are_told_the_same_of_the_machine_and_of_what_counts(paid):
    said = {build_prompt(TASKS[0].prompt, shell).split("\n\n")[0] for shell in paid.shells}
    assert said == {PREAMBLE}
    assert PREAMBLE == (
        "The current directory is the root of a Rust cargo workspace on a Linux machine. All "
        "paths are relative to it. The usual Linux command-line tools are installed, interpreters "
        "of other languages are not. Write only the requested output to standard output, and exit "
        "with status 0."
    )
