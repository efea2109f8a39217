"""docs/models-and-servers.md: a quirk of each server in its table, and every block is a study."""

import json
import re

import pytest
import yaml

from fluency.common.errors import CallError
from fluency.common.paths import CONFIG, ROOT
from fluency.core.config_files import merge, read_yaml
from fluency.core.study import Study
from fluency.generation.policies import resolve
from tests.generation.endpoint import Reply, message
from tests.generation.studies import KEY, SUFFIX, ask, generator_of, study_on

PAGE = (ROOT / "docs/models-and-servers.md").read_text()
FOUND = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", PAGE, re.S))
BLOCKS = {block["study"]: block for block in FOUND}


def counted(tokens, thinking=0):
    details = {"reasoning_tokens": thinking}
    return {"completion_tokens": tokens, "completion_tokens_details": details}


def completion(text, finish="stop", said=None, top=None, **over):
    choice = {"message": {"role": "assistant", "content": text} | (said or {})}
    choice |= {"finish_reason": finish} | over
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return {"id": "chatcmpl_fake", "model": "some-model", "choices": [choice], "usage": usage} | (
        top or {}
    )


def failure(status, words):
    return Reply(status, {"error": {"message": words, "type": "api_error", "code": status}})


def chat(*args, **over):
    return "chat", Reply(body=completion(*args, **over))


def thinks(field, text=""):
    return chat(text, said={field: "Hm"})


NO_MODEL = "model 'x' not found, try pulling it first"
NO_PATH = "Unexpected endpoint or method. (POST /v1/messages)"
BROKEN = completion("", "error", error={"code": 502, "message": "Provider returned error"})
BLANKS = b"\n \n" + json.dumps(completion("ls", "length")).encode()
THOUGHT = message(content=[{"type": "thinking", "thinking": "Hm, ls"}])

# fmt: off
QUIRKS = {
    "Ollama loads its model": (*chat("", "load"), "ok", 2),
    "Ollama lacks the model": ("chat", failure(404, NO_MODEL), NO_MODEL, 1),
    "Ollama thinks": (*thinks("reasoning", "\n"), "into `reasoning`", 1),
    "vLLM loses the answer": (*chat(None), "`content: null`", 3),
    "vLLM aborts": (*chat("ls", "abort"), "ok", 2),
    "vLLM thinks": (*thinks("reasoning_content", None), "--reasoning-parser", 1),
    "llama.cpp loads its model": ("chat", failure(503, "Loading model"), "ok", 2),
    "LM Studio lacks the path": ("messages", Reply(body={"error": NO_PATH}), NO_PATH, 3),
    "LM Studio thinks": ("messages", Reply(body=THOUGHT), "whole reply into `thinking`", 1),
    "LM Studio says null": ("messages", Reply(body=message(content=None)), '"content": null', 3),
    "LiteLLM's upstream is down": ("chat", failure(500, "litellm.InternalServerError"), "ok", 2),
    "OpenRouter sends blanks while it waits": ("chat", Reply(body=BLANKS), "truncated", 1),
    "OpenRouter's provider fails": ("chat", Reply(body=BROKEN), "ok", 2),
    "OpenRouter sends a failure again": (
        "chat", Reply(body=BROKEN | {"id": "gen-1"}), "Provider returned error", 3),
    "OpenRouter's provider has no words": (
        *chat("", native_finish_reason="MALFORMED"), "MALFORMED", 3),
    "a gateway fails in the message": (
        *chat("ls", said={"error": {"message": "upstream reset"}}), "upstream reset", 3),
    "a gateway lists errors": (
        *chat("", top={"errors": [{"message": "upstream reset"}]}), "upstream reset", 3),
    "a gateway has failed": (*chat("", top={"status": "failed"}), "'status': 'failed'", 3),
    "MiniMax fails": (
        *chat("", top={"base_resp": {"status_code": 1000, "status_msg": "busy"}}), "busy", 3),
    "a gateway counts nothing": (
        *chat("", top={"usage": counted(0)}), "counted no tokens of an answer", 3),
    "a gateway counts only thinking": (
        *chat("", top={"usage": counted(90, 90)}), "counted no tokens of an answer", 3),
    "a gateway has no usage": (*chat("", top={"usage": None}), "counted no tokens", 3),
    "OpenRouter thinks": (*thinks("reasoning_details"), "into `reasoning_details`", 1),
    "a gateway thinks": (*thinks("thinking"), "into `thinking`", 1),
    "Mistral thinks": (
        *chat([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]),
        "into `thinking`", 1),
    "a gateway thinks in parts": (
        *chat([{"type": "reasoning", "text": "Hm"}]), "into `reasoning`", 1),
    "Azure filters": (*chat(None, "content_filter"), "refusal", 1),
    "Azure's model refuses in words": (*chat(None, said={"refusal": "I can't"}), "refusal", 1),
}
# fmt: on
"""Server and quirk -> wire, reply, outcome or what the run says, and the attempts."""


def test_page_has_a_quirk_for_each_server_and_a_block_for_each_way():
    rows = re.findall(r"^\| ([^|]+) \| `http", PAGE, re.MULTILINE)
    servers = ["Ollama", "vLLM", "llama.cpp", "LM Studio", "LiteLLM", "OpenRouter", "Azure"]
    assert rows == servers
    assert all(any(name.startswith(server) for name in QUIRKS) for server in servers)
    local = {"embedded", "llama-cpp", "ollama", "lm-studio", "vllm"}
    assert set(BLOCKS) == local | {"gateway", "x-api-key", "chat", "bedrock", "vertex"}


@pytest.mark.parametrize("interface", ["reply", "tool"])
@pytest.mark.parametrize("name", QUIRKS)
def test_quirk_of_a_server_is_an_answer_asked_again_or_a_sentence(name, interface, endpoint, store):
    wire, reply, expected, attempts = QUIRKS[name]
    study = study_on(wire, interface=interface)
    urls = {"sonnet": endpoint.url + SUFFIX.get(wire, "")}
    generator = generator_of(study, store, endpoint, base_urls=urls)
    if expected in ("ok", "truncated", "refusal"):
        endpoint.script(reply)
        assert ask(generator).answer.outcome == expected
    else:
        endpoint.always(reply)
        with pytest.raises(CallError) as caught:
            ask(generator)
        assert expected in str(caught.value)
    assert len(endpoint.requests) == attempts


def block_study(name):
    """The block laid over config.yaml, as a run has it."""
    return Study.model_validate(merge(read_yaml(CONFIG), BLOCKS[name]))


@pytest.mark.parametrize("name", BLOCKS)
def test_block_is_a_study_whose_models_can_be_asked(name):
    for model in block_study(name).models:
        policy = resolve(model)
        assert policy.temperature_sent == 0.7
        assert (policy.price is not None) == (model.key_required or model.served_by == "embedded")
        assert not model.base_url or model.base_url.endswith("/v1") == (model.wire == "chat")


@pytest.mark.parametrize("name", ["gateway", "x-api-key"])
def test_gateway_block_sends_its_key_and_the_record_lacks_it(name, endpoint, store):
    environ = dict.fromkeys(["OPENROUTER_API_KEY", "GATEWAY_KEY"], KEY)
    record = ask(generator_of(block_study(name), store, endpoint, environ=environ))
    (seen,) = endpoint.requests
    assert seen.path == "/v1/messages" and seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers.get("x-api-key") == (KEY if name == "x-api-key" else None)
    assert record.cost_usd is not None and KEY not in record.model_dump_json()
