"""The key: out of the environment, onto the wire, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import logging
import re
import traceback
from urllib.parse import unquote

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.common.files import pretty_json
from fluency.generation.keys import REMOVED, require_keys, without_key
from fluency.generation.providers.messages_format import check_base_url
from tests.generation.endpoint import BEHAVIOURS, Endpoint, Reply, error, message
from tests.generation.studies import ENVIRON, KEY, ask, cells_of, generator_of, prompt_of, study_of

ECHO = [error(status, "api_error", f"your key {KEY} is bad: Bearer {KEY}") for status in (400, 401, 403, 404, 413, 500)]
ECHO.append(Reply(200, f"<html>{KEY}</html>".encode()))
ECHO.append(Reply(200, message(f"echo {KEY}", id=KEY)))
SPELLINGS = {
    "as it is": KEY,
    "escaped for JSON": "".join(f"\\u{ord(sign):04x}" for sign in KEY),
    "escaped for JSON in part": KEY.replace("a", "\\u0061").replace("k", "\\u006B"),
    "escaped twice": KEY.replace("c", "\\\\u0063"),
    "for an address": "".join(f"%{ord(sign):02X}" for sign in KEY),
    "for HTML": "".join(f"&#{ord(sign)};" for sign in KEY),
    "hexadecimal": KEY.encode().hex(),
} | {f"Base64 after {n}": base64.b64encode(b"Bearer "[:n] + KEY.encode() + b"."[:n]).decode() for n in (0, 1, 2, 7)}


def bare(text: str) -> str:
    """A text with every spelling of `SPELLINGS` undone that a reader may undo."""
    text = re.sub(r"\\+u00([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
    text = html.unescape(unquote(text))
    for encoded in re.findall(r"[A-Za-z0-9+/]{20,}", text):
        text += base64.b64decode(encoded[: len(encoded) - (len(encoded) % 4 == 1)] + "==").decode("latin-1")
    for encoded in re.findall(r"(?:[0-9a-f]{2}){20,}", text):
        text += bytes.fromhex(encoded).decode("latin-1")
    return text


@pytest.mark.parametrize("size", range(12, 18))
@pytest.mark.parametrize("before", range(3))
def test_all_of_a_key_in_base64_goes_wherever_it_begins_and_ends(size: int, before: int) -> None:
    """What is left of it are the signs that hold bits of its neighbours, too."""
    key = "".join(chr(ord("c") + 5 * n % 23) for n in range(size))
    for after in range(3):
        encoded = base64.b64encode(b"~" * before + key.encode() + b"~" * after).decode().rstrip("=")
        shared = -(-before * 8 // 6) + len(encoded) - (before + size) * 8 // 6
        assert len(without_key(encoded, key).replace(REMOVED, "")) <= shared, (encoded, after)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_that_is_echoed_in_another_spelling_is_in_no_file_and_no_error(spelling, endpoint, store, capsys):
    echo = SPELLINGS[spelling]
    assert KEY in bare(echo)
    study = study_of()
    cells = cells_of(study)
    replies = (
        json.dumps(message("echo @@", id="@@", model="@@", **{"@@": ["@@"]})).encode().replace(b"@@", echo.encode())
    )
    endpoint.script(Reply(200, replies, {"request-id": echo, "anthropic-ratelimit-tokens-reset": echo}))
    generator = generator_of(study, store, endpoint)
    texts = [pretty_json(ask(generator, cells[0]).model_dump(mode="json"))]
    refusal = json.dumps(error(400, "@@", "your key is @@", "@@").body).encode().replace(b"@@", echo.encode())
    for reply in (
        Reply(400, refusal),
        Reply(200, refusal),
        Reply(413, echo.encode()),
        Reply(307, b"", {"location": echo}),
    ):
        endpoint.always(reply)
        with pytest.raises(CallError) as caught:
            ask(generator_of(study, store, endpoint), cells[1])
        texts += [str(caught.value), *traceback.format_exception(caught.value)]
    texts += [path.read_text() for path in store.folder.rglob("*") if path.is_file()]
    assert texts[0].count("[key removed]") >= 5  # text, id, model, the odd field's name and value
    assert KEY not in bare("\n".join([*texts, capsys.readouterr().err]))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_that_a_batch_echoes_is_in_no_file(spelling, endpoint, store):
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "transport": "batch"})
    honest = endpoint._batch_results
    endpoint.answer = lambda prompt: "echo @@"
    endpoint._batch_results = lambda name: honest(name).replace(b"@@", SPELLINGS[spelling].encode())
    generator = generator_of(study, store, endpoint)
    cells = cells_of(study)[:3]
    generator.prepare_batches((cell, prompt_of(cell)) for cell in cells)
    assert [ask(generator, cell).answer.transport for cell in cells] == ["messages", "batch", "batch"]
    everything = "\n".join(path.read_text() for path in store.folder.rglob("*") if path.is_file())
    assert everything.count("[key removed]") >= 4
    assert KEY not in bare(everything)


def test_a_short_key_takes_only_itself_out_of_answers():
    assert without_key("the keyword k, S2V5", "Key") == "the keyword k, S2V5"
    assert without_key("Key Ke\\u0079", "Key") == "[key removed] [key removed]"


def test_a_canary_key_is_nowhere_after_a_run_with_every_failure(endpoint, store, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    for name, behaviour in [*BEHAVIOURS.items(), *enumerate(ECHO)]:
        if name in ("never-first-byte", "endless-stream", "huge", "rate-limit-1s"):
            continue
        study = study_of({"alias": f"m{name}", "id": "claude-sonnet-4-6", "extra_headers": {"x-api-key": "$KEY"}})
        generator = generator_of(study, store, endpoint)
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
def test_an_address_that_ends_in_v1_is_corrected_with_a_note(tail, endpoint, store, capsys):
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "base_url": endpoint.url + tail})
    ask(generator_of(study, store, endpoint, base_urls={}), cells_of(study)[0])
    assert endpoint.requests[0].path == "/v1/messages"
    (said,) = capsys.readouterr().err.splitlines()
    assert f"is used as {endpoint.url}" in said


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
