"""The key: out of the environment, onto the wire, and nowhere else."""

import json
import re
import time

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.generation.api_keys import keys_of, redact
from tests.generation.endpoint import Reply, error, message
from tests.generation.studies import ENVIRON, KEY, ask, cells_of, generator_of, study_of


@pytest.mark.parametrize("key", ["EMPTY", "test", "ollama", "x", "ls -la"[:2]])
def test_a_dummy_key_is_sent_and_changes_nothing(key, endpoint, store):
    """What a short key would be removed from are commands: a body is never rewritten."""
    command = f"ls -la {key} test x EMPTY # \\u0078 ollama"
    endpoint.answer = lambda prompt: command
    generator = generator_of(study_of(), store, endpoint, environ={"ANTHROPIC_API_KEY": key})
    answer = ask(generator).answer
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {key}"
    assert (answer.text, answer.request_id) == (command, "req_fake")
    assert answer.raw["content"][0]["text"] == command
    endpoint.script(error(400, "invalid_request_error", f"{key} is bad: text"))
    with pytest.raises(CallError, match=re.escape(f"{key} is bad: text")):
        ask(generator, cells_of(generator.study)[1])


ESCAPED = [KEY.replace("-", dash) for dash in ("\\u002d", "\\u002D", "\\\\u002d")]
ESCAPED += ["".join(f"\\u{ord(c):04x}" for c in KEY), f"\\/{KEY}"]


@pytest.mark.parametrize("written", ESCAPED)
def test_an_escaped_key_is_in_no_record_and_no_message(written, endpoint, store):
    refusal = error(400, "invalid_request_error", "bad: KEY").body
    for status, body in ((400, refusal), (200, message("echo KEY"))):
        body = json.dumps(body).encode().replace(b"KEY", written.encode())
        endpoint.script(Reply(status, body))
        says = r"\[key removed\]" if status == 400 else "the reply holds the API key"
        with pytest.raises(CallError, match=says) as caught:
            ask(generator_of(study_of(), store, endpoint))
        assert "sk" not in caught.value.what + caught.value.hint
    assert list(store.files()) == []


def test_a_key_with_slashes_and_quotes_is_removed_as_json_writes_it():
    key = 'a/b"c/d\\e/f0123456789'
    assert redact(json.dumps(key).replace("/", "\\/"), key) == '"[key removed]"'


def test_a_reply_of_many_backslashes_is_read_at_once(endpoint, generator):
    endpoint.answer = lambda prompt: "\\" * 500_000
    start = time.monotonic()
    assert len(ask(generator).answer.text) == 500_000
    endpoint.always(Reply(400, b"\\" * 3_000_000))
    with pytest.raises(CallError):
        ask(generator, cells_of(generator.study)[1])
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(
    "environ", [{"OTHER": KEY}, *({"ANTHROPIC_API_KEY": key} for key in ("", "  "))]
)
def test_a_missing_key_is_one_sentence_before_any_call(environ, endpoint, store):
    study = study_of()
    with pytest.raises(UserError) as before:
        keys_of(study.models[0], environ)
    assert "ANTHROPIC_API_KEY is not set" in before.value.what
    assert before.value.where and "export ANTHROPIC_API_KEY" in before.value.hint
    with pytest.raises(StopRun, match="ANTHROPIC_API_KEY is not set"):
        ask(generator_of(study, store, endpoint, environ=environ))
    assert endpoint.requests == []
    assert keys_of(study.models[0], ENVIRON) == {"$KEY": KEY}


@pytest.mark.parametrize("key", ["sk-ant two", "sk-ant\ntwo", "sk-änt", "sk-ant\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key, endpoint, store):
    generator = generator_of(study_of(), store, endpoint, environ={"ANTHROPIC_API_KEY": key})
    with pytest.raises(StopRun) as caught:
        ask(generator)
    assert key not in str(caught.value) and endpoint.requests == []


def test_a_key_with_blanks_around_it_works_and_a_server_that_needs_none_gets_none(endpoint, store):
    own = {"alias": "m", "id": "claude-sonnet-4-6", "api_key_env": "MY_KEY"}
    llama = {"alias": "llama", "id": "llama", "key_required": False}
    llama |= {"temperature": 0.7, "max_tokens": 64}
    study = study_of(own, llama)
    generator = generator_of(study, store, endpoint, environ=ENVIRON | {"MY_KEY": f" {KEY}\n"})
    ask(generator)
    record = ask(generator, cells_of(study)[-1])
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(endpoint.requests[1].headers)
    assert (record.cost_usd, record.price) == (None, None)


def test_further_keys_are_sent_from_the_environment_and_kept_nowhere(endpoint, store):
    own = {"alias": "m", "id": "claude-sonnet-4-6"}
    own |= {"extra_headers": {"x-team-token": "Bearer $TEAM"}}
    own |= {"extra_body": {"via": [{"api_key": "$VIA_KEY"}], "note": "costs $TEAM 5"}}
    further = {"TEAM": "team-0123456789ab", "VIA_KEY": "via-0123456789ab"}
    generator = generator_of(study_of(own), store, endpoint, environ=ENVIRON | further)
    record = ask(generator)
    sent = endpoint.requests[0]
    assert sent.headers["x-team-token"] == f"Bearer {further['TEAM']}"
    assert sent.body["via"] == [{"api_key": further["VIA_KEY"]}]
    assert sent.body["note"] == "costs $TEAM 5"
    stored = record.answer.model_dump_json()
    assert "$TEAM" in stored and not any(key in stored for key in further.values())
    cell = cells_of(generator.study)[1]
    endpoint.script(error(400, "invalid_request_error", f"bad: {further['TEAM']}"))
    with pytest.raises(CallError, match=r"bad: \[key removed\]"):
        ask(generator, cell)
    endpoint.script(Reply(200, message(further["VIA_KEY"])))
    with pytest.raises(StopRun, match="the reply holds the API key"):
        ask(generator, cell)
    store.release()
    lacking = generator_of(study_of(own), store, endpoint, environ=ENVIRON | {"TEAM": "x"})
    with pytest.raises(StopRun, match=r"\$VIA_KEY: the environment variable VIA_KEY is not set"):
        ask(lacking, cell)
