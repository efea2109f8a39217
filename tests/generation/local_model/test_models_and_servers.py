"""docs/models-and-servers.md: every block is a valid study, and some of them are asked."""

import re

import pytest
import yaml

from fluency.common.paths import CONFIG, ROOT
from fluency.core.config_files import merge, read_yaml
from fluency.core.study import Study
from fluency.generation.generator import Generator
from fluency.generation.policies import resolve
from fluency.generation.request import request_for
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint

PAGE = (ROOT / "docs/models-and-servers.md").read_text()
BLOCKS = {
    value["study"]: value
    for value in map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.S))
}


def study_of(name: str, base_url: str | None = None):
    """The block laid over config.yaml, as a run has it, with its server moved to `base_url`."""
    over = dict(BLOCKS[name])
    if base_url:
        over["models"] = [model | {"base_url": base_url} for model in over["models"]]
    return Study.model_validate(merge(read_yaml(CONFIG), over))


def ask(study, store, environ):
    generator = Generator(study, store=store, environ=environ)
    cell = next(study.cells(["recent-large-files"]))
    try:
        prompt = "Print the names of the files here. Output only the command."
        return generator.generate(cell, request_for(study, cell, prompt), "0" * 64)
    finally:
        generator.close()


def test_the_page_has_a_block_for_each_server():
    local = {"embedded", "llama-cpp", "ollama", "lm-studio", "vllm"}
    assert set(BLOCKS) == local | {"gateway", "x-api-key", "chat", "bedrock", "vertex"}


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_a_study_whose_models_can_be_asked(name):
    study = study_of(name)
    assert study.study == name
    for model in study.models:
        policy = resolve(model)
        assert policy.temperature_sent == 0.7
        assert (policy.price is not None) == (model.key_required or model.served_by == "embedded")
        assert not model.base_url or model.base_url.endswith("/v1") == (model.wire == "chat")


def test_the_llama_cpp_block_gets_an_answer_of_a_real_model(small_server, tmp_path):
    study = study_of("llama-cpp", small_server.address)
    record = ask(study, AnswerStore(tmp_path / "answers"), {})
    assert record.answer.text and record.answer.usage.output_tokens > 0
    assert record.answer.request.temperature == 0.7 and record.answer.server == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "variable"), [("gateway", "OPENROUTER_API_KEY"), ("x-api-key", "GATEWAY_KEY")]
)
def test_a_gateway_block_sends_its_key_and_the_record_does_not_hold_it(name, variable, tmp_path):
    key = "canary-0123456789"
    with Endpoint(lambda prompt: "ls") as gateway:
        store = AnswerStore(tmp_path / "answers")
        record = ask(study_of(name, gateway.url), store, {variable: key})
        seen = {header.lower(): value for header, value in gateway.requests[0].headers.items()}
    assert gateway.requests[0].path == "/v1/messages" and seen["authorization"] == f"Bearer {key}"
    assert seen.get("x-api-key") == (key if name == "x-api-key" else None)
    assert gateway.requests[0].body["temperature"] == 0.7
    assert record.answer.text == "ls" and record.cost_usd is not None
    assert key not in record.model_dump_json()
