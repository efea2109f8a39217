"""One quirk of each server that people use: docs/models-and-servers.md has them as a table."""

import json
import re

import pytest

from fluency.common.errors import StopRun
from fluency.common.paths import ROOT
from tests.generation.endpoint import Reply, message
from tests.generation.studies import SUFFIX, ask, cells_of, generator_of, study_on


def completion(text, finish="stop", said=None, **over):
    choice = {"message": {"role": "assistant", "content": text} | (said or {})}
    choice |= {"finish_reason": finish} | over
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return {"id": "chatcmpl_fake", "model": "some-model", "choices": [choice], "usage": usage}


def failure(status, words):
    return Reply(status, {"error": {"message": words, "type": "api_error", "code": status}})


NO_MODEL = "model 'x' not found, try pulling it first"
NO_PATH = "Unexpected endpoint or method. (POST /v1/messages)"
BROKEN = completion("", "error", error={"code": 502, "message": "Provider returned error"})


def thinks(field):
    return Reply(body=completion("", said={field: "Hm"}))


# fmt: off
QUIRKS = {
    "Ollama loads its model": ("chat", Reply(body=completion("", "load")), ("ok", 2)),
    "Ollama lacks the model": ("chat", failure(404, NO_MODEL), NO_MODEL),
    "Ollama thinks": ("chat", thinks("reasoning"), "into `reasoning`"),
    "vLLM aborts": ("chat", Reply(body=completion("ls", "abort")), ("ok", 2)),
    "vLLM thinks": ("chat", thinks("reasoning_content"), "--reasoning-parser"),
    "llama.cpp loads its model": ("chat", failure(503, "Loading model"), ("ok", 2)),
    "LM Studio lacks the path": ("messages", Reply(body={"error": NO_PATH}), NO_PATH),
    "LiteLLM's upstream is down": ("chat", failure(500, "litellm.InternalServerError"), ("ok", 2)),
    "OpenRouter sends blanks while it waits": (
        "chat", Reply(body=b"\n \n" + json.dumps(completion("ls")).encode()), ("ok", 1)),
    "OpenRouter's provider fails": ("chat", Reply(body=BROKEN), ("ok", 2)),
    "OpenRouter sends a failure again": (
        "chat", Reply(body=BROKEN | {"id": "gen-1"}), "Provider returned error"),
    "Azure filters": ("chat", Reply(body=completion(None, "content_filter")), ("refusal", 1)),
}
# fmt: on


def test_every_server_of_the_page_has_a_quirk():
    page = (ROOT / "docs/models-and-servers.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| `http", page, re.MULTILINE)
    servers = ["Ollama", "vLLM", "llama.cpp", "LM Studio", "LiteLLM", "OpenRouter", "Azure"]
    assert rows == servers
    assert all(any(name.startswith(server) for name in QUIRKS) for server in servers)


@pytest.mark.parametrize("name", QUIRKS)
def test_a_quirk_of_a_server_is_an_answer_asked_again_or_a_sentence(name, endpoint, store):
    wire, reply, expected = QUIRKS[name]
    study = study_on(wire)
    urls = {"sonnet": endpoint.url + SUFFIX.get(wire, "")}
    generator = generator_of(study, store, endpoint, base_urls=urls)
    endpoint.script(*[reply] * (1 if isinstance(expected, tuple) else 4))
    cell = cells_of(study)[0]
    if isinstance(expected, str):
        with pytest.raises(StopRun) as caught:
            ask(generator, cell)
        assert expected in str(caught.value)
    else:
        answer = ask(generator, cell).answer
        assert (answer.outcome, answer.attempts) == expected


def test_a_cache_of_litellm_is_refused_and_an_id_that_ollama_repeats_for_another_prompt_is_not(
    endpoint, store
):
    generator = generator_of(study_on("messages"), store, endpoint)
    first, second, third = cells_of(generator.study)[:3]
    endpoint.script(*(Reply(body=message(text, id="chatcmpl-7")) for text in ("a", "b", "b", "c")))
    assert ask(generator, first, "one prompt").answer.text == "a"
    assert ask(generator, second, "another").answer.text == "b"
    assert ask(generator, third, "one prompt").answer.text != "b"
