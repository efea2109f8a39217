"""A real model behind llama.cpp's own server: sampling, and that nothing outlives the run."""

import json
import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.study import ModelConfig
from fluency.core.tasks import load_tasks
from fluency.execution.extract import extract
from fluency.generation.failure import RetryPolicy
from fluency.generation.local_model import server as server_module
from fluency.generation.local_model.server import EmbeddedServer, address_of
from fluency.generation.local_model.weights import ensure_weights
from fluency.generation.request import build_prompt
from tests.generation import studies
from tests.generation.local_model.conftest import served
from tests.generation.test_servers import block_study
from tests.waiting import wait_for

RUN = """
import json, sys, time
from pathlib import Path
from fluency.generation.local_model.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), "smollm2-135m-instruct", context=512)
print(json.dumps([server.address, server._child.pid]), flush=True)
"""


def ask(server, prompt="List the files.", *, seed=1, temperature=0.7, max_tokens=12):
    body = {"model": "any", "messages": [{"role": "user", "content": prompt}]}
    body |= {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
    reply = requests.post(f"{server.address}/v1/chat/completions", json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    return reply.json()


def text(reply):
    return reply["choices"][0]["message"]["content"]


def listening(address):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(address).port)) == 0


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# ------------------------------------------------------------ sampling


def test_a_seed_gives_its_text_again_whatever_is_asked_between_or_at_once(small_server):
    alone = {seed: text(ask(small_server, seed=seed)) for seed in (1, 2, 3)}
    ask(small_server, "List the files of a folder, please.")
    with ThreadPoolExecutor(3) as pool:
        together = pool.map(lambda seed: text(ask(small_server, seed=seed)), alone)
        assert dict(zip(alone, together, strict=True)) == alone and len(set(alone.values())) == 3


def test_the_temperature_is_honoured_and_the_reply_is_a_completion(small_server):
    reply = ask(small_server, max_tokens=5)
    choice, usage = reply["choices"][0], reply["usage"]
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "length")
    assert (reply["model"], usage["completion_tokens"]) == ("smollm2-135m-instruct", 5)
    # By the template in the weights, on which the answers of a seed depend.
    assert text(reply) and usage["prompt_tokens"] == 34
    for temperature, texts in ((0, 1), (1.5, 2)):
        said = {text(ask(small_server, seed=seed, temperature=temperature)) for seed in (1, 2)}
        assert len(said) == texts


def test_llama_cpp_block_gets_an_answer_of_a_real_model(small_server, endpoint, store):
    urls = {"my-gguf": small_server.address}
    study, patient = block_study("llama-cpp"), {"retry_policy": RetryPolicy(), "environ": {}}
    record = studies.ask(studies.generator_of(study, store, endpoint, urls, **patient))
    assert record.answer.text and record.answer.usage.output_tokens > 0
    assert record.answer.request.temperature == 0.7 and record.answer.server == "127.0.0.1"


# ------------------------------------------------------------ lifetime


@pytest.mark.parametrize(
    "end, code",
    [("", 0), ("raise RuntimeError('a bug')", 1), ("import os; os.kill(os.getpid(), 9)", -9)],
)
def test_however_the_run_ends_its_server_ends_with_it(small_weights, end, code):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "scripts"))
    command = [sys.executable, "-c", RUN + end, str(small_weights)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment, **pipes)
    address, child = json.loads(process.stdout.readline())
    process.communicate(timeout=30)
    assert process.returncode == code
    wait_for(lambda: not running(child) and not listening(address))


def test_ctrl_c_is_left_to_the_run_and_a_stop_ends_the_server_and_frees_its_port(small_weights):
    """A terminal sends it to the whole group: answers on their way must still arrive."""
    with served(small_weights, "smollm2-135m-instruct", context=512) as server:
        child = server._child
        assert os.getpgid(child.pid) != os.getpgid(0) and os.getsid(child.pid) != os.getsid(0)
        assert listening(server.address)
    assert child.returncode == 0, "the end of its pipe was enough: it was not killed"
    assert not listening(server.address)
    server.stop()


def test_one_server_a_run_from_any_thread(small_weights):
    model = ModelConfig(alias="small", id="smollm2-135m-instruct", served_by="embedded")
    try:
        with ThreadPoolExecutor(4) as pool:
            urls = set(pool.map(address_of, [model] * 4))
        assert len(urls) == 1 and len(server_module._servers) == 1
        # The server must outlive the thread that started it.
        assert listening(urls.pop())
    finally:
        server_module._servers.pop(model.id).stop()


# ------------------------------------------------------------ what cannot start


def test_weights_that_are_none_are_a_sentence(tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(UserError, match="did not start") as caught:
        EmbeddedServer(bad, "bad")
    assert str(bad) in str(caught.value)


def test_weights_larger_than_the_memory_are_refused_before_loading(tmp_path):
    huge = tmp_path / "huge.gguf"
    with huge.open("wb") as stream:
        stream.truncate(1 << 43)
    with pytest.raises(UserError, match="not enough memory") as caught:
        EmbeddedServer(huge, "huge")
    assert "MB are available" in caught.value.what and "smaller model" in caught.value.hint


def test_resources_follow_the_machine_and_the_limits_of_its_container(tmp_path, monkeypatch):
    threads = {1: 1, 3: 1, 4: 2, 8: 4, 64: 4}
    assert {available: server_module.choose_threads(available) for available in threads} == threads
    monkeypatch.setattr(server_module, "CGROUP", tmp_path)
    machine = server_module.available_memory()
    assert 2_000_000 < machine < 2**50
    limits = {"cpu.max": "100000 100000\n", "memory.max": "3000000\n"}
    for name, limit in limits.items():
        (tmp_path / name).write_text(limit)
    (tmp_path / "memory.current").write_text("1000000\n")
    assert (server_module.processors(), server_module.available_memory()) == (1, 2_000_000)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert server_module.processors() == len(os.sched_getaffinity(0))
    assert server_module.available_memory() > 2_000_000


PROGRAMS = {"bash": r"\b(find|grep|ls|awk|sed|cd|for|cat|jq|curl|ps|wc|git|cargo|echo)\b"}
PROGRAMS["pwsh"] = "get-(childitem|content|process)|select-string|invoke-webrequest|foreach-object"


def test_the_default_model_answers_a_task_with_a_command_of_the_shell():
    (task,), model = load_tasks(["recent-large-files"]), "qwen2.5-coder-0.5b-instruct"
    with served(ensure_weights(model), model) as server:
        for shell, programs in PROGRAMS.items():
            reply = ask(server, build_prompt(task.prompt, shell), temperature=0, max_tokens=64)
            command = extract(text(reply)).lenient or ""
            assert re.search(programs, command.lower()), command
