"""The key: out of the environment, onto the wire, and nowhere else."""

from __future__ import annotations

import contextlib
import logging
import traceback

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.files import pretty_json
from fluency.generation.keys import require_keys
from fluency.generation.providers.messages_format import check_base_url
from tests.generation.endpoint import BEHAVIOURS, Endpoint, Reply, error, message
from tests.generation.studies import ENVIRON, KEY, ask, cells_of, generator_of, study_of

ECHO = [error(status, "api_error", f"your key {KEY} is bad: Bearer {KEY}") for status in (400, 401, 403, 404, 413, 500)]
ECHO.append(Reply(200, f"<html>{KEY}</html>".encode()))
ECHO.append(Reply(200, message(f"echo {KEY}", id=KEY)))


def test_a_canary_key_is_nowhere_after_a_run_with_every_failure(endpoint, store, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    for name, behaviour in [*BEHAVIOURS.items(), *enumerate(ECHO)]:
        if name in ("never-first-byte", "endless-stream", "huge", "rate-limit-1s"):
            continue
        study = study_of({"alias": f"m{name}", "id": "claude-sonnet-4-6", "extra_headers": {"x-api-key": "$KEY"}})
        generator = generator_of(study, store, endpoint, say=texts.append)
        endpoint.always(behaviour)
        for cell in cells_of(study)[:2]:
            try:
                texts.append(pretty_json(ask(generator, cell).model_dump(mode="json")))
            except CallError as caught:
                texts += [str(caught), repr(caught), *traceback.format_exception(caught)]
                chained = caught.__cause__ or caught.__context__
                while chained is not None:
                    texts.append(f"{chained!r} {chained}")
                    chained = chained.__cause__ or chained.__context__
        for path in store.folder.glob("*/*.json"):
            texts.append(path.read_text())
            path.unlink()
    assert {seen.headers["x-api-key"] for seen in endpoint.requests} == {KEY}  # it was there to be found
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    everything = "\n".join(
        [*texts, caplog.text, *capfd.readouterr(), *(data.decode(errors="replace") for data in files)]
    )
    assert len(everything) > 20_000
    assert KEY not in everything and KEY[10:30] not in everything
    assert "[key removed]" in everything


@pytest.mark.parametrize("environ", [{}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": "  "}, {"OTHER": KEY}])
def test_a_missing_key_is_one_sentence_before_any_call(environ, endpoint, store):
    study = study_of()
    with pytest.raises(UserError) as before:
        require_keys(study, environ)
    assert "ANTHROPIC_API_KEY is not set" in before.value.what
    assert before.value.where and "export ANTHROPIC_API_KEY" in before.value.hint
    with pytest.raises(StopRun, match="ANTHROPIC_API_KEY is not set"):
        ask(generator_of(study, store, endpoint, environ=environ), cells_of(study)[0])
    assert endpoint.requests == []
    require_keys(study, ENVIRON)
    require_keys(study, {}, aliases=[])


@pytest.mark.parametrize("key", ["sk-ant two", "sk-ant\ntwo", "sk-änt", "sk-ant\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key, endpoint, store):
    study = study_of()
    with pytest.raises(StopRun) as caught:
        ask(generator_of(study, store, endpoint, environ={"ANTHROPIC_API_KEY": key}), cells_of(study)[0])
    assert key not in str(caught.value)
    assert endpoint.requests == []


def test_a_key_with_blanks_around_it_works(endpoint, store):
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "api_key_env": "MY_KEY"})
    ask(generator_of(study, store, endpoint, environ={"MY_KEY": f" {KEY}\n"}), cells_of(study)[0])
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_callers_environment_does_not_reach_the_wire(endpoint, store, monkeypatch):
    with Endpoint() as elsewhere:
        for name, value in {
            "ANTHROPIC_API_KEY": "sk-ant-other",
            "ANTHROPIC_AUTH_TOKEN": "token-of-another",
            "ANTHROPIC_BASE_URL": elsewhere.url,
            "ANTHROPIC_CUSTOM_HEADERS": "x-leaked: yes\nanthropic-beta: other",
            "ANTHROPIC_PROFILE": "no-such-profile",
            "ANTHROPIC_LOG": "debug",
            "HTTP_PROXY": elsewhere.url,
            "ALL_PROXY": elsewhere.url,
        }.items():
            monkeypatch.setenv(name, value)
        study = study_of()
        ask(generator_of(study, store, endpoint), cells_of(study)[0])
        assert elsewhere.requests == []
    headers = endpoint.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert {"x-leaked", "anthropic-beta", "x-api-key"}.isdisjoint(headers)
    import os

    assert os.environ["ANTHROPIC_AUTH_TOKEN"] == "token-of-another"  # hidden for a moment, not lost


def test_a_server_that_needs_no_key_gets_none(endpoint, store):
    entry = {"alias": "llama", "id": "llama", "key_required": False, "temperature": 0.7, "max_tokens": 64}
    study = study_of(entry)
    record = ask(generator_of(study, store, endpoint), cells_of(study)[0])
    assert KEY not in str(endpoint.requests[0].headers)
    assert (record.cost_usd, record.price) == (None, None)


@pytest.mark.parametrize("tail", ["/v1", "/v1/", "/v1/messages"])
def test_an_address_that_ends_in_v1_is_corrected_with_a_note(tail, endpoint, store):
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "base_url": endpoint.url + tail})
    said: list[str] = []
    ask(generator_of(study, store, endpoint, base_urls={}, say=said.append), cells_of(study)[0])
    assert endpoint.requests[0].path == "/v1/messages"
    assert len(said) == 1 and f"is used as {endpoint.url}" in said[0]


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("https://openrouter.ai/api", "https://openrouter.ai/api"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api"),
        ("http://localhost:11434/", "http://localhost:11434"),
    ],
)
def test_addresses(url, used):
    assert check_base_url(url, "here")[0] == used


@pytest.mark.parametrize(
    "url", ["localhost:1234", "ftp://x", "", "http://", "https://me:secret@host", "http://h?key=1"]
)
def test_what_is_no_address_is_refused(url, endpoint, store):
    with pytest.raises(UserError):
        check_base_url(url, "here")
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6"})
    generator = generator_of(study, store, endpoint, base_urls={"m": url} if url else {"m": "x"})
    with contextlib.suppress(AssertionError), pytest.raises(StopRun):
        ask(generator, cells_of(study)[0])
    assert endpoint.requests == []
