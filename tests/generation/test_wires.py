"""One suite for every wire: a reply means and costs the same on each, and is never paid twice."""

import json
import logging
import os
import time
import traceback

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.files import pretty_json
from fluency.core.study import KEY_OF
from fluency.generation.failure import Failure, RetryPolicy
from fluency.generation.policies import resolve
from fluency.generation.providers import PROVIDERS
from fluency.generation.request import planned_after, request_for
from tests.generation import studies
from tests.generation.endpoint import ANSWERS, BILLED, SLOW, TROUBLES, Reply, error, message
from tests.generation.studies import KEY, MODELS, SUFFIX, ask, cells_of, generator_of
from tests.waiting import wait_for

PATHS = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "bedrock": "/model/us.anthropic.claude-sonnet-4-6-v1:0/invoke",
    "vertex": "/v1/projects/mine/locations/europe-west1/publishers/anthropic/models/"
    "claude-sonnet-4-6@20260217:rawPredict",
}
every_wire = pytest.mark.parametrize("wire", MODELS)


@pytest.fixture
def on(endpoint, store):
    """Makes a study on a wire, and a generator that asks the endpoint for it."""

    def make(wire, **over):
        model = {key: over.pop(key) for key in ("effort", "interface") if key in over}
        study = studies.study_on(wire, trials=40, **model)
        urls = {"sonnet": endpoint.url + SUFFIX.get(wire, "")}
        return study, generator_of(study, store, endpoint, urls, **over)

    return make


def most_usd(study, cell):
    return resolve(study.models[0]).upper_bound_usd(studies.prompt_of(cell))


def test_every_wire_is_in_the_suite():
    assert (
        {studies.study_on(wire).models[0].wire for wire in MODELS} == set(PROVIDERS) == set(KEY_OF)
    )


@every_wire
def test_what_is_sent_and_what_is_kept(wire, endpoint, on):
    study, generator = on(wire)
    cell = cells_of(study)[0]
    record = ask(generator, cell)
    (seen,) = endpoint.requests
    assert seen.path == PATHS[wire] and seen.prompt == studies.prompt_of(cell)
    assert seen.body["messages"] == [{"role": "user", "content": studies.prompt_of(cell)}]
    assert (seen.body["temperature"], seen.body["max_tokens"]) == (0.7, 1024)
    assert seen.body.get("stream", False) is False
    assert ("stream" in seen.body) == (wire != "bedrock")  # its address says it
    assert (record.cell, record.temperature_requested) == (cell, 0.7)
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    version = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}.get(wire)
    assert seen.body.get("anthropic_version") == version
    assert seen.headers.get("anthropic-version") == ("2023-06-01" if wire == "messages" else None)
    assert seen.body.get("model") == (study.models[0].id if wire in ("messages", "chat") else None)
    answer = record.answer
    assert (answer.outcome, answer.text, answer.attempts) == ("ok", "ls -la", 1)
    assert 0 < answer.latency_s < 5
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (120, 2)
    assert (answer.request_id, answer.server) == ("req_fake", "127.0.0.1")
    assert answer.client.split()[0] == ("openai" if wire == "chat" else "anthropic")
    assert record.cost_usd == pytest.approx((120 * 3 + 2 * 15) / 1e6)
    assert answer.request.wire == study.models[0].wire == wire
    assert ask(generator, cell) == record and len(endpoint.requests) == 1


@every_wire
def test_every_kind_of_answer_means_the_same_and_is_kept(wire, endpoint, store, on):
    study, generator = on(wire)
    for cell, (name, (reply, *expected)) in zip(cells_of(study), ANSWERS.items(), strict=False):
        endpoint.script(reply)
        answer = ask(generator, cell).answer
        assert (name, answer.outcome, answer.text, answer.attempts) == (name, *expected, 1)
        assert ask(generator, cell).answer == answer == store.get(answer.request_key)
    assert len(endpoint.requests) == len(ANSWERS)


@every_wire
def test_troubles_are_tried_again_and_those_that_may_be_billed_are_counted(wire, endpoint, on):
    study, generator = on(wire)
    cells = iter(cells_of(study))
    ask(generator, next(cells))
    for name, cell in zip([*TROUBLES, *BILLED], cells, strict=False):
        endpoint.script(name)
        before = generator.budget.spent_usd
        record = ask(generator, cell)
        assert (name, record.answer.outcome, record.answer.attempts) == (name, "ok", 2)
        lost = generator.budget.spent_usd - before - record.cost_usd
        assert (name, lost) == (name, pytest.approx(most_usd(study, cell) if name in BILLED else 0))


@every_wire
@pytest.mark.parametrize("name", SLOW)
def test_the_deadline_holds(wire, name, endpoint, on):
    policy = RetryPolicy(attempt_s=0.3, deadline_s=0.6, attempts=1)
    study, generator = on(wire, retry_policy=policy)
    endpoint.script(name)
    with pytest.raises(CallError, match="in time"):
        ask(generator, cells_of(study)[0])
    (seen,) = endpoint.requests
    assert time.monotonic() - seen.at < 5
    assert generator.budget.spent_usd == pytest.approx(most_usd(study, cells_of(study)[0]))


WORDS, PAGE = f"your key {KEY} is bad: Bearer {KEY}", f"<html>Bearer {KEY}</html>".encode()
ECHOES = [error(status, "api_error", WORDS) for status in (400, 401, 403, 404, 413, 500)]
ECHOES += [Reply(422, body) for body in (KEY.encode(), PAGE, {"detail": [KEY]})]
ECHOES += [Reply(200, PAGE), Reply(307, b"", {"location": f"http://127.0.0.1:9/{KEY}"})]


@every_wire
def test_an_echoed_key_is_in_no_record_error_log_or_file(wire, endpoint, store, caplog, capfd, on):
    caplog.set_level(logging.DEBUG)
    study, generator = on(wire)
    cells, texts = iter(cells_of(study)), []
    endpoint.script(Reply(200, message("echo"), {"request-id": KEY, "x-request-id": KEY}))
    texts.append(pretty_json(ask(generator, next(cells)).model_dump(mode="json")))
    assert "[key removed]" in texts[0]
    for reply in ECHOES:
        endpoint.always(reply)
        with pytest.raises(CallError) as caught:
            ask(on(wire)[1], next(cells))
        texts += [str(caught.value), repr(caught.value), *traceback.format_exception(caught.value)]
    endpoint.always(Reply(200, message(f"echo {KEY}", id=KEY)))
    before, requests = generator.budget.spent_usd, len(endpoint.requests)
    for cell in (next(cells), next(cells)):
        with pytest.raises(StopRun, match="the reply holds the API key") as caught:
            ask(generator, cell)
    assert "revoke" in caught.value.hint and len(endpoint.requests) == requests + 1
    assert generator.budget.spent_usd - before > 0.01
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    texts += [str(caught.value), *(path.read_text() for path in files)]
    everything = "\n".join([*texts, caplog.text, *capfd.readouterr()])
    assert KEY not in everything and KEY[10:30] not in everything


@every_wire
def test_the_environment_decides_nothing(wire, endpoint, monkeypatch, on):
    wires = ("OPENAI", "ANTHROPIC", "ANTHROPIC_BEDROCK", "ANTHROPIC_VERTEX")
    urls = [*(f"{wire}_BASE_URL" for wire in wires), "HTTP_PROXY", "ALL_PROXY"]
    odd = dict.fromkeys(urls, "http://127.0.0.1:9") | {"ANTHROPIC_LOG": "debug"}
    names = "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_PROFILE OPENAI_ORG_ID"
    names += " OPENAI_PROJECT_ID AWS_REGION AWS_PROFILE CLOUD_ML_REGION"
    odd |= dict.fromkeys(names.split(), "sk-ant-theirs")
    headers = ["OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"]
    odd |= dict.fromkeys(headers, "x-theirs: 1\nanthropic-beta: theirs\nauthorization: theirs")
    for name, value in odd.items():
        monkeypatch.setenv(name, value)
    study, generator = on(wire)
    assert ask(generator, cells_of(study)[0]).answer.text == "ls -la"
    (seen,) = endpoint.requests
    assert "theirs" not in json.dumps(seen.headers) + seen.path
    own = "accept accept-encoding authorization connection content-length content-type host"
    own += " user-agent anthropic-version x-stainless-raw-response"
    assert seen.headers.keys() <= set(own.split())


@every_wire
def test_closed_generator_leaves_no_file_open(wire, on):
    on(wire)[1].close()
    for number, allowed in ((0, 99), (1, 0)):  # libraries open files once
        before = set(os.listdir("/proc/self/fd"))
        study, generator = on(wire)
        ask(generator, cells_of(study)[number])
        generator.close()
        wait_for(lambda: len(set(os.listdir("/proc/self/fd")) - before) <= allowed)  # noqa: B023


# ------------------------------------------------------------ asked as agents call it


def called(*calls, **over) -> Reply:
    """A reply that says something and calls tools."""
    blocks = [{"type": "tool_use", "id": name, "name": name, "input": said} for name, said in calls]
    content = [{"type": "text", "text": "I will"}, *blocks]
    return Reply(body=message(**{"content": content, "stop_reason": "tool_use"} | over))


LS = ("bash", {"command": "ls"})
CALLS = {
    "a call": (called(LS), "ok", "ls"),
    "an empty command": (called(("bash", {"command": " "})), "empty", " "),
    "a reply in text": (Reply(body=message("ls")), "no-call", ""),
    "the other shell's": (called(("powershell", {"command": "ls"})), "no-call", ""),
    "another argument": (called(("bash", {"cmd": "ls"})), "no-call", ""),
    "one more argument": (called(("bash", {"command": "ls", "timeout": 3})), "no-call", ""),
    "no text": (called(("bash", {"command": ["ls"]})), "no-call", ""),
    "no object": (called(("bash", "ls")), "no-call", ""),
    "two calls": (called(LS, LS), "no-call", ""),
    "a refusal": (called(stop_reason="refusal"), "refusal", ""),
    "a cut call": (called(LS, stop_reason="max_tokens"), "truncated", "ls"),
}


@every_wire
def test_a_forced_call_is_the_answer_and_another_shape_is_none(wire, endpoint, on):
    study, generator = on(wire, interface="tool")
    cells = [cell for cell in cells_of(study) if cell.shell == "bash"]
    for cell, (name, (reply, outcome, text)) in zip(cells, CALLS.items(), strict=False):
        endpoint.script(reply)
        answer = ask(generator, cell).answer
        assert (name, answer.outcome, answer.text, answer.attempts) == (name, outcome, text, 1)
    assert len(endpoint.requests) == len(CALLS)


@every_wire
def test_the_prompt_is_the_same_to_the_letter_and_one_tool_must_be_called(wire, endpoint, on):
    properties = {"command": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["command"]}
    for interface in ("reply", "tool"):
        study, generator = on(wire, interface=interface)
        for cell in cells_of(study, 1)[::40]:
            assert ask(generator, cell).answer.text == "ls -la"
    bodies = [seen.body for seen in endpoint.requests]
    added = {"tools", "tool_choice"}
    assert bodies[:2] == [{key: body[key] for key in body.keys() - added} for body in bodies[2:]]
    sent = [body["tools"] for body in bodies[2:]]
    if wire == "chat":
        assert [body["tool_choice"] for body in bodies[2:]] == ["required"] * 2
        called = [tool["function"] for (tool,) in sent]
        sent = [[{"input_schema": tool.pop("parameters"), **tool}] for tool in called]
    else:
        forced = {"type": "tool", "disable_parallel_tool_use": True}
        asked = [body["tool_choice"] for body in bodies[2:]]
        assert asked == [forced | {"name": name} for name in ("bash", "powershell")]
    shells = {"bash": "Runs a Bash command.", "powershell": "Runs a PowerShell 7 command."}
    tools = [{"name": name, "description": text} for name, text in shells.items()]
    assert sent == [[tool | {"input_schema": schema}] for tool in tools]


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "s"}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "Exit status: 1."}
CHAT_SAID = {"role": "assistant", "reasoning_content": "Hm", "content": None, "tool_calls": [CALL]}
FOLLOW_UPS = {
    ("chat", "reply"): [{"role": "assistant", "content": "ls"}, {"role": "user", "content": "No."}],
    ("chat", "tool"): [CHAT_SAID, {"role": "tool", "tool_call_id": "c1", "content": "No."}],
    ("messages", "reply"): [
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "ls"}]},
        {"role": "user", "content": "No."},
    ],
    ("messages", "tool"): [
        {"role": "assistant", "content": [THOUGHT, USE]},
        {"role": "user", "content": [RESULT]},
    ],
}


@every_wire
@pytest.mark.parametrize("interface", ["reply", "tool"])
def test_request_carries_what_was_said_after_the_prompt(wire, interface, endpoint, store, on):
    study, generator = on(wire, interface=interface)
    cell = cells_of(study)[0]
    first = request_for(study, cell, "List.")
    assert "follow_up" not in first.model_dump(mode="json")
    kind = "chat" if wire == "chat" else "messages"
    planned = planned_after(first, "a" * 64)
    request = planned.model_copy(update={"follow_up": FOLLOW_UPS[kind, interface]})
    answers = [generator.generate(cell, one, "0" * 64).answer for one in (first, request)]
    user = {"role": "user", "content": "List."}
    sent = [seen.body["messages"] for seen in endpoint.requests]
    assert sent == [[user], [user, *request.follow_up]]
    assert [store.get(answer.request_key).request for answer in answers] == [first, request]
    assert most_usd(study, cell) < resolve(study.models[0]).upper_bound_usd(request.text)


TWICE = json.dumps(json.dumps({"command": "ls"}))


@pytest.mark.parametrize("said", ['{"command": "ls', TWICE])
def test_arguments_of_a_call_may_be_encoded_twice_and_must_be_json(said, endpoint, on):
    study, generator = on("chat", interface="tool")
    call = {"type": "function", "function": {"name": "bash", "arguments": said}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    endpoint.script(Reply(body={"choices": [{"message": said, "finish_reason": "tool_calls"}]}))
    answer = ask(generator, cells_of(study)[0]).answer
    expected = ("ok", "ls") if call["function"]["arguments"] == TWICE else ("no-call", "")
    assert (answer.outcome, answer.text) == expected


# ------------------------------------------------------------ what only one wire has


def test_where_clouds_are():
    bedrock, vertex = (studies.study_on(wire).models[0] for wire in ("bedrock", "vertex"))
    found, _ = PROVIDERS["bedrock"].address(bedrock, None, "")
    assert found == "https://bedrock-runtime.us-east-1.amazonaws.com"
    hosts = {"europe-west1": "europe-west1-aiplatform", "global": "aiplatform"}
    for region, host in (hosts | {"us": "aiplatform.us.rep"}).items():
        model = vertex.model_copy(update={"region": region})
        found, _ = PROVIDERS["vertex"].address(model, None, "")
        assert found == f"https://{host}.googleapis.com/v1"


ADDRESSES = [
    *[("chat", f"http://h{path}", "http://h/v1") for path in ("", "/v1/", "/v1/chat/completions")],
    ("chat", "https://h/api/paas/v4", "https://h/api/paas/v4"),
    *[("messages", f"https://h/api{path}", "https://h/api") for path in ("", "/v1")],
    *[("messages", f"http://h:11434{path}", "http://h:11434") for path in ("/", "/v1/messages")],
    ("messages", "https://h/v1/", "https://h"),
]
NO_ADDRESSES = ["localhost:1234", "ftp://x", "", "http://", "http://h:99999", "http://[::1"]
NO_ADDRESSES += ["http://a b", "http://h?key=1", "http://h/#1", "https://me:secret@host"]


@pytest.mark.parametrize("wire, given, used", ADDRESSES)
def test_the_address_of_a_server_is_corrected_with_a_note(wire, given, used):
    bare, note = PROVIDERS[wire].address(
        studies.study_on(wire).models[0], given, "models: m: base_url"
    )
    assert bare == used and bool(note) == (used != given.rstrip("/"))
    assert not note or f"is used as {used}" in note


@pytest.mark.parametrize("given", NO_ADDRESSES)
def test_what_is_not_an_address_is_refused(given):
    with pytest.raises(UserError, match="address"):
        PROVIDERS["messages"].address(studies.study_on("messages").models[0], given, "")


def test_chat_learns_the_name_of_the_limit_from_the_refusal(endpoint, on):
    """Azure's, in its own words."""
    study, generator = on("chat", effort="low")
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. "
    words += "Use 'max_completion_tokens' instead."
    refusal = error(400, "invalid_request_error", words)
    endpoint.when(lambda seen: "max_tokens" in seen.body, refusal)
    for cell in cells_of(study)[:2]:
        assert ask(generator, cell).answer.attempts == 1
    limits = [[name for name in seen.body if name.startswith("max_")] for seen in endpoint.requests]
    assert limits == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]
    assert [seen.body["reasoning_effort"] for seen in endpoint.requests] == ["low"] * 3


PER_TOKEN, GROK, FEE = (32 * 3 + 9 * 15) / 1e6, (32 * 3 + 103 * 15) / 1e6, 0.25
USAGES = [
    ({}, 9, PER_TOKEN),
    ({"total_tokens": 41}, 9, PER_TOKEN),
    ({"total_tokens": 135}, 103, GROK),  # xAI, and Gemini behind gateways
    ({"completion_tokens_details": {"reasoning_tokens": 94}}, 103, GROK),
    ({"completion_tokens_details": {"reasoning_tokens": 8}}, 9, PER_TOKEN),
    ({"total_tokens": "many"}, 9, PER_TOKEN),
    ({"cost": FEE, "is_byok": False}, 9, FEE),
    ({"cost": FEE, "is_byok": True}, 9, PER_TOKEN),
    *[({"cost": odd}, 9, PER_TOKEN) for odd in (0, -1, "1", None, {"total_cost": 1})],
]


@pytest.mark.parametrize("usage, tokens, usd", USAGES)
def test_thinking_is_counted_wherever_it_is_stated_and_a_stated_cost_is_believed(
    usage, tokens, usd, endpoint, on
):
    study, generator = on("chat")
    counts = {"prompt_tokens": 32, "completion_tokens": 9} | usage
    endpoint.script(Reply(body={"usage": counts, "choices": [CHOICE]}))
    record = ask(generator, cells_of(study)[0])
    assert record.answer.usage.output_tokens == tokens
    assert record.cost_usd == pytest.approx(usd) == generator.budget.spent_usd


CHOICE = {"message": {"content": "ls"}, "finish_reason": "stop"}


def test_success_of_minimax_is_an_answer():
    reply = {"choices": [CHOICE], "base_resp": {"status_code": 0, "status_msg": "success"}}
    assert PROVIDERS["chat"].read(reply, None).outcome == "ok"


@pytest.mark.parametrize("error", [{"message": "it broke", "code": 502}, "it broke"])
@pytest.mark.parametrize("choices", [{}, {"choices": [{"message": {"content": "ls"}}]}])
@pytest.mark.parametrize("wire", ["messages", "chat"])
def test_an_error_in_a_reply_is_the_service_s_beside_an_answer_too(wire, choices, error):
    with pytest.raises(Failure, match="it broke"):
        PROVIDERS[wire].read(message() | choices | {"error": error}, None)


ENDED = {"STOP": "ok", "eos": "ok", "end_turn": "ok", "tool_use": "ok", "MAX_TOKENS": "truncated"}
ENDED |= {"length": "truncated", "refusal": "refusal", "content_filter": "refusal"}


@pytest.mark.parametrize("end", [*ENDED, "error", "", None])
def test_end_of_the_model_is_one_on_every_wire(end):
    choice = {"message": {"content": "ls"}, "finish_reason": end}
    reply = message("ls", stop_reason=end) | {"choices": [choice]}
    for wire in ("chat", "messages"):
        if end in ENDED:
            assert PROVIDERS[wire].read(reply, None).outcome == ENDED[end]
        else:
            with pytest.raises(Failure, match="not the model"):
                PROVIDERS[wire].read(reply, None)


def test_a_model_that_takes_no_temperature_is_sent_none_and_its_record_says_so(endpoint, store):
    study = studies.study_of({"alias": "opus", "id": "claude-opus-4-7"})
    record = ask(generator_of(study, store, endpoint), cells_of(study)[0])
    unsent = {"temperature", "thinking", "output_config", "seed", "system"}
    assert unsent.isdisjoint(endpoint.requests[0].body)
    assert record.answer.request.temperature is None
    assert record.temperature_requested == "provider-default"


def test_an_embedded_model_gets_no_key_and_a_seed_of_its_own(endpoint, store):
    entry = {"alias": "qwen", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
    study, started = studies.study_of(entry), []
    serve = lambda model: started.append(model) or endpoint.url  # noqa: E731
    generator = generator_of(study, store, endpoint, address_of=serve)
    records = [ask(generator, cell) for cell in cells_of(study)[:3]]
    seeds = [record.answer.request.seed for record in records]
    assert len(started) == 1 and len(set(seeds)) == 3
    assert [seen.body["seed"] for seen in endpoint.requests] == seeds
    assert KEY not in str([seen.headers for seen in endpoint.requests])
    assert all(record.cost_usd == 0 and record.answer.server == "embedded" for record in records)
    requests = [record.answer.request for record in records]
    assert all((request.wire, request.headers) == ("chat", {}) for request in requests)
