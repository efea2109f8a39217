"""Every misbehaviour of an endpoint or a proxy: what it becomes, and what requests it costs."""

import gzip
import re
import shutil
import ssl
import subprocess
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from fluency.common.errors import CallError, StopRun, UserError
from fluency.core.study import ModelConfig
from fluency.generation.api_keys import LOOPBACK
from fluency.generation.failure import from_reply
from fluency.generation.providers import PROVIDERS
from fluency.generation.providers.sdk_provider import MOST_BYTES
from fluency.generation.store import AnswerStore, verify
from tests.generation import endpoint as fake
from tests.generation.endpoint import WHOLE, Reply, error, message
from tests.generation.studies import ask, cells_of, generator_of, prompt_of, study_of
from tests.waiting import wait_for


@pytest.fixture
def two_models(endpoint, store):
    """A generator whose models have both answered once, and fresh cells of both."""
    names = {"a": "claude-sonnet-4-6", "b": "claude-haiku-4-5"}
    study = study_of(*({"alias": alias, "id": name} for alias, name in names.items()))
    generator, cells = generator_of(study, store, endpoint), cells_of(study)
    ask(generator, cells[0])
    ask(generator, cells[-1])
    endpoint.requests.clear()
    return generator, cells[1:-1]


@pytest.mark.parametrize("name", [*fake.TROUBLES, *fake.BILLED])
def test_lasting_troubles_leave_only_the_cell_missing(name, endpoint, store, two_models):
    generator, cells = two_models
    endpoint.always(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    assert not isinstance(caught.value, StopRun) and caught.value.hint
    # A reply may have been billed: fewer attempts.
    assert len(endpoint.requests) == (3 if name in fake.BILLED else 4)
    assert verify(store)[0].total() == 2
    endpoint.always(None)
    assert ask(generator, cells[0]).answer.outcome == "ok"


@pytest.mark.parametrize("name", [*fake.STOPS_RUN, *fake.STOPS_MODEL, *fake.THIS_CELL_ONLY])
def test_what_no_repetition_helps_ends_the_run_the_model_or_the_cell(name, endpoint, two_models):
    generator, cells = two_models
    endpoint.script(name)
    with pytest.raises(CallError) as caught:
        ask(generator, cells[0])
    stopped = [] if name in fake.THIS_CELL_ONLY else [cells[1]]
    stopped += [cells[-1]] if name in fake.STOPS_RUN else []
    for cell in stopped:
        with pytest.raises(StopRun, match=re.escape(str(caught.value))):
            ask(generator, cell)
    assert isinstance(caught.value, StopRun) == bool(stopped)
    assert fake.STOPS_MODEL.get(name, ("", ""))[1] in str(caught.value)
    assert len(endpoint.requests) == 1
    if name not in fake.STOPS_RUN:
        assert ask(generator, cells[-1]).answer.outcome == "ok"  # the other model goes on


def test_an_absurd_pause_is_believed_but_not_waited_for(endpoint, two_models):
    generator, cells = two_models
    endpoint.script("absurd-rate-limit")
    start = time.monotonic()
    for cell in cells[:3]:
        with pytest.raises(CallError, match="the service asks to wait"):
            ask(generator, cell)
    assert time.monotonic() - start < 2 and len(endpoint.requests) == 1


def test_a_pause_holds_for_the_whole_model_and_no_other(endpoint, two_models):
    generator, cells = two_models
    endpoint.script(error(429, "rate_limit_error", "slow down", retry_after="1"))
    with ThreadPoolExecutor(3) as pool:
        limited = pool.submit(ask, generator, cells[0])
        wait_for(lambda: endpoint.requests)
        time.sleep(0.1)
        waiting = pool.submit(ask, generator, cells[1])
        other = pool.submit(ask, generator, cells[-1])
        for future in (limited, waiting, other):
            assert future.result().answer.outcome == "ok"
    start = endpoint.requests[0].at
    delays = {seen.prompt: seen.at - start for seen in endpoint.requests[1:]}
    assert delays.pop(prompt_of(cells[-1])) < min(delays.values()) and min(delays.values()) >= 1.0


LOST = ["500", "cut-JSON", "bad-request", "unprocessable", "flagged", "silent", "only-thought"]


@pytest.mark.parametrize("name", LOST)
def test_five_lost_cells_in_a_row_stop_the_model_whatever_they_were_lost_by(
    name, endpoint, two_models
):
    generator, cells = two_models
    endpoint.always(name)
    kinds = []
    for cell in cells[:5] + cells[:2]:
        with pytest.raises(CallError) as caught:
            ask(generator, cell)
        kinds.append(isinstance(caught.value, StopRun))
    attempts = {"500": 4, "cut-JSON": 3, "silent": 3}.get(name, 1)
    assert kinds == [False] * 4 + [True] * 3 and len(endpoint.requests) == 5 * attempts


@pytest.mark.parametrize("name", LOST)
def test_prompt_that_is_always_lost_ends_neither_this_run_nor_the_next(name, endpoint, store):
    study = study_of()
    cells = cells_of(study)
    bad = [cell for cell in cells if (cell.task, cell.shell) == (cells[0].task, cells[0].shell)]
    prompt_of_task = lambda cell: f"{cell.task} in {cell.shell}"  # noqa: E731
    endpoint.when(lambda seen: seen.prompt == prompt_of_task(cells[0]), name)
    for _ in range(2):
        generator = generator_of(study, store, endpoint)
        for cell in cells:
            if cell in bad:
                with pytest.raises(CallError) as caught:
                    ask(generator, cell, prompt_of_task(cell))
                assert not isinstance(caught.value, StopRun) and caught.value.where == cell.path
            else:
                assert ask(generator, cell, prompt_of_task(cell)).answer.outcome == "ok"
        generator.close()
    assert verify(store)[0].total() == len(cells) - len(bad)


@pytest.mark.parametrize("name", ["unprocessable", "html", "forbidden-elsewhere"])
def test_first_two_prompts_lost_stop_the_model(name, endpoint, generator):
    endpoint.always(name)
    first, second, third = cells_of(generator.study)[:3]
    for cell, kind in ((first, CallError), (second, StopRun), (third, StopRun)):
        with pytest.raises(kind):
            ask(generator, cell)
    assert len(set(endpoint.prompts)) == 2


def test_refused_prompt_counts_once_and_shows_that_the_model_can_be_asked(endpoint, generator):
    endpoint.always("content-filter")
    for cell, prompt in zip(cells_of(generator.study), "aaaabbbbcccd", strict=True):
        with pytest.raises(CallError, match="filter refuses this prompt") as caught:
            ask(generator, cell, prompt)
        assert not isinstance(caught.value, StopRun)
    with pytest.raises(StopRun, match="5 cells in a row"):
        ask(generator, prompt="e")


@pytest.mark.parametrize(
    "url, tried_again",
    [
        ("http://127.0.0.1:9", True),
        *[(url, False) for url in ("http://no-such-host.invalid", "https://127.0.0.1:{port}")],
    ],
)
def test_ask_without_a_connection_stops_the_model(url, tried_again, endpoint, store):
    """A name or certificate that does not hold is not tried again."""
    urls = {"sonnet": url.format(port=endpoint.url.rpartition(":")[2])}
    generator = generator_of(study_of(), store, endpoint, urls)
    for cell in cells_of(generator.study)[: 1 + tried_again]:
        with pytest.raises(CallError, match="connection failed") as caught:
            ask(generator, cell)
    assert isinstance(caught.value, StopRun)
    assert ("tried" in caught.value.what) == tried_again
    assert ("base_url" in caught.value.hint) != tried_again
    assert generator.budget.spent_usd == 0


ODD_PROXIES = ["socks5://me:secret@127.0.0.1:1", "nonsense://secret"]
PROXY_NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]


@pytest.mark.parametrize("proxy", [*ODD_PROXIES, "http://127.0.0.1:1", "http://[", "::"])
def test_a_proxy_is_for_other_machines_an_odd_one_a_sentence(proxy, endpoint, store, monkeypatch):
    for name in PROXY_NAMES:
        monkeypatch.setenv(name, proxy)
    monkeypatch.setenv("NO_PROXY", "[,::,*x")
    for host in ("127.0.0.1", "localhost"):
        urls = {"sonnet": endpoint.url.replace("127.0.0.1", host)}
        generator = generator_of(study_of(), store, endpoint, base_urls=urls)
        assert ask(generator, prompt=f"asked at {host}").answer.text
    monkeypatch.setenv("NO_PROXY", "")
    other = ModelConfig(alias="m", id="claude-sonnet-4-6", base_url="https://192.0.2.1")
    if proxy == "http://127.0.0.1:1":
        with closing(PROVIDERS["messages"](other, other.base_url, {"$KEY": "k"})) as provider:
            assert provider._http._mounts
    if proxy not in ODD_PROXIES:
        return
    with pytest.raises(UserError, match="the proxy of the environment cannot be used") as caught:
        PROVIDERS["messages"](other, other.base_url, {"$KEY": "k"})
    assert "ALL_PROXY" in caught.value.where and "NO_PROXY" in caught.value.hint
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "a.localhost"])
def test_loopback(host):
    assert LOOPBACK.fullmatch(host) and not LOOPBACK.fullmatch(f"{host}.example")
    assert not LOOPBACK.fullmatch("192.0.2.1")


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("headers", [{"content-encoding": "gzip"}, {}], ids=["compressed", "plain"])
def test_no_body_is_read_beyond_a_bound_whatever_its_status(status, headers, endpoint, generator):
    body = gzip.compress(b" " * 60_000_000, 1) if headers else b" " * 20_000_000
    ask(generator)
    endpoint.always(Reply(status, body, headers))
    tracemalloc.start()
    says = {200: "larger than 4 MB", 401: "the key was not accepted", 500: "500"}[status]
    with pytest.raises(CallError, match=says):
        ask(generator, cells_of(generator.study)[1])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * MOST_BYTES + 2 * len(body)


def test_a_compressed_reply_is_read_and_one_in_another_way_is_not(endpoint, generator):
    replies = [("gzip", gzip.compress(WHOLE)), ("br", b"\x0b\x02\x80"), ("gzip", b"no gzip")]
    for encoding, sent in replies:
        endpoint.script(Reply(200, sent, {"content-encoding": encoding}))
    assert ask(generator).answer.attempts == 1
    assert ask(generator, cells_of(generator.study)[1]).answer.attempts == 3
    assert endpoint.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("status", [400, 404, 405, 413, 422])
def test_a_service_that_says_try_again_is_obeyed(status, endpoint, generator):
    says = "temperature? not now"
    endpoint.script(error(status, "invalid_request_error", says, x_should_retry="true"))
    assert ask(generator).answer.attempts == 2


ENDS_THE_RUN = {"insufficient_quota": 429, "billing_hard_limit_reached": 429, "payment": 402}
ENDS_THE_RUN |= {"authentication_error": 401, "permission_error": 403}


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize("name", ["content-filter", "flagged"])
def test_refusal_of_a_prompt_is_no_refusal_of_the_key(name, status):
    assert from_reply(status, fake.BEHAVIOURS[name].body, {}).scope == "prompt"


@pytest.mark.parametrize("kind", ENDS_THE_RUN)
def test_no_service_makes_a_run_go_on_without_key_or_money(kind):
    error = {"type": kind, "code": kind, "message": "no"}
    assert from_reply(ENDS_THE_RUN[kind], error, {"x-should-retry": "true"}).scope == "run"


def test_a_reply_that_another_request_got_is_no_answer(endpoint, store):
    """A gateway out of step sends each reply twice; ids alone repeat on some servers."""
    study = study_of({"alias": "m", "id": "claude-sonnet-4-6", "in_flight": 1})
    first, second = message("first", id="msg_1"), message("second", id="msg_1")
    bodies = (first, second, second, message("first", id="msg_2"))
    endpoint.script(*(Reply(body=body) for body in bodies))
    generator = generator_of(study, store, endpoint)
    answers = [ask(generator, cell).answer for cell in cells_of(study)[:3]]
    got = [(answer.text, answer.attempts) for answer in answers]
    assert got == [("first", 1), ("second", 1), ("first", 2)]


def one_prompt(study, generator):
    """Ask one prompt for every trial of one task in one shell; what each call gave."""
    texts = []
    for cell in [cell for cell in cells_of(study, 1) if cell.shell == "bash"]:
        try:
            texts.append(ask(generator, cell, "one prompt").answer.text)
        except CallError as error:
            texts.append(str(error))
    return texts


@pytest.mark.parametrize("name", ["msg_1", 17])
def test_response_id_of_another_trial_is_no_answer_now_or_later(name, endpoint, store):
    study = study_of()
    endpoint.script(Reply(body=message("ls", id=name)))
    endpoint.always(Reply(body=message("ls", id=name, created=2)))
    found = one_prompt(study, generator_of(study, store, endpoint))
    assert found[0] == "ls" and all("caches replies" in text for text in found[1:])
    later = AnswerStore(store.folder)
    store.release()
    found = one_prompt(study, generator_of(study, later, endpoint))
    assert found[0] == "ls" and all("no-cache: true" in text for text in found[1:])
    assert verify(store)[0].total() == 1


def test_server_with_one_response_id_for_all_is_asked_without_end(endpoint, store):
    """Once its id came with two texts, the same text may come again."""
    texts = ["ls", "ls -a", "ls"]
    bodies = [message(text, id="fixed", created=n) for n, text in enumerate(texts)]
    endpoint.script(*(Reply(body=body) for body in bodies))
    study = study_of()
    assert one_prompt(study, generator_of(study, store, endpoint)) == texts


SAID = {
    "asked for claude-sonnet-4-6, answered by another-model": ("", "another-model", "ls -la"),
    "--reasoning-parser": ("", "claude-sonnet-4-6", "<think>Hm.</think>ls"),
    "is used as http://127.0.0.1:": ("/v1", "claude-sonnet-4-6", "ls -la"),
}
"""What the run says -> a path in the address, the model that answers, its text."""


@pytest.mark.parametrize("says", SAID)
def test_run_says_once_what_is_odd_and_keeps_the_answers(says, endpoint, store, capsys):
    path, model, text = SAID[says]
    endpoint.always(Reply(body=message(text, model=model)))
    generator = generator_of(study_of(), store, endpoint, {"sonnet": endpoint.url + path})
    for cell in cells_of(generator.study)[:2]:
        answer = ask(generator, cell).answer
        assert (answer.model_echoed, answer.text) == (model, text)
    (said,) = capsys.readouterr().err.splitlines()
    assert says in said


def test_only_the_services_own_address_keeps_connections_alive(endpoint):
    for url, most in ((endpoint.url, 0), (None, 1)):
        model = ModelConfig(alias="m", id="claude-sonnet-4-6", base_url=url)
        with closing(PROVIDERS["messages"](model, url, {"$KEY": "k"})) as provider:
            pool = provider._http._transport._pool
        assert min(1, pool._max_keepalive_connections) == most


@pytest.mark.skipif(
    not shutil.which("openssl"), reason="openssl, which makes the certificate, is missing"
)
def test_own_certificate_of_a_local_server_is_trusted_by_ssl_cert_file(
    endpoint, store, tmp_path, monkeypatch
):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -days 1 -keyout {key} -out {certificate}"
    made += " -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(made.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    endpoint.wrap(context)
    urls = {"sonnet": f"https://localhost:{endpoint.url.rpartition(':')[2]}"}
    for file, says in (
        ("", "connection failed"),
        (str(key) + "x", "SSL_CERT_FILE of the environment cannot be used"),
    ):
        monkeypatch.setenv("SSL_CERT_FILE", file)
        with pytest.raises(StopRun, match=says):
            ask(generator_of(study_of(), store, endpoint, urls))
        store.release()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ask(generator_of(study_of(), store, endpoint, urls)).answer.text == "ls -la"
