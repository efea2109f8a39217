"""What a killed run or a silent engine leaves behind ends, or is removed when it is old."""

import contextlib
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import ROOT
from fluency.execution import container, image
from fluency.execution.engine import Client, Engine
from fluency.execution.sandbox import Sandbox
from tests.execution.run_it import bash, own_containers
from tests.waiting import wait_for

pytestmark = pytest.mark.engine

DEADLINE_S = 6
KILLED = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from fluency.core.study import SandboxConfig
from fluency.execution import container
from fluency.execution.sandbox import open_sandbox
from tests.execution.run_it import bash
container.LABELS[container.LABEL] = sys.argv[1]
sandbox = open_sandbox(SandboxConfig(parallel=2))
with ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda command: bash(sandbox, command, timeout_s={DEADLINE_S}), ["trap '' TERM HUP; sleep 600"] * 2))
"""


@pytest.fixture(autouse=True)
def _label(monkeypatch) -> str:
    """A label of each test's own."""
    monkeypatch.setitem(container.LABELS, container.LABEL, secrets.token_hex(4))
    return container.LABELS[container.LABEL]


def test_container_after_sigkill_ends_at_its_deadline(sandbox, _label):
    engine = sandbox._engine
    run = subprocess.Popen([sys.executable, "-c", KILLED, _label], cwd=ROOT)

    def commands() -> int:
        said = ""
        for found in own_containers(engine):
            with contextlib.suppress(Exception):  # it may have ended
                said += str(engine.client().top(found))
        return said.count("sleep 600")

    wait_for(lambda: commands() >= 2, 60)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert commands() >= 2, "they run on without the harness"
    wait_for(lambda: not own_containers(engine, all=True), DEADLINE_S + 60)


PIECE = 1 << 16


class HangingEngine:
    """Passes everything on, a request whose first line has `held` only after `let_go`."""

    def __init__(self, engine: Engine, folder: Path, held: str) -> None:
        self._behind = engine.url.removeprefix("unix://")
        self._held = held.encode()
        self.taken, self.let_go = threading.Event(), threading.Event()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(folder / "e.sock"))
        self._server.listen(32)
        url = f"unix://{folder}/e.sock"
        self.engine = replace(engine, url=url, options={"base_url": url}, _local=threading.local())
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(self._behind)
            answered = threading.Event()
            answers = (behind, connection, answered)
            threading.Thread(target=self._copy, args=answers, daemon=True).start()
            waited = False
            while piece := connection.recv(PIECE):
                first = piece.partition(b"\r\n")[0]
                if not self.let_go.is_set() and first.startswith(b"POST ") and self._held in first:
                    waited = True
                    self.taken.set()
                    self.let_go.wait()
                answered.clear()
                behind.sendall(piece)
            if waited:  # the client has gone: an engine may drop its request
                answered.wait(60)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket, answered: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                answered.set()
                with contextlib.suppress(OSError):
                    target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Let everything go and take no more."""
        self.let_go.set()
        self._server.close()


@contextlib.contextmanager
def hanging(engine: Engine, folder: Path, held: str) -> Iterator[HangingEngine]:
    """Such an engine, closed afterwards."""
    found = HangingEngine(engine, folder, held)
    try:
        yield found
    finally:
        found.close()


def _only_this_one_hurries(client: Client, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound of 2 s for the call that is held back, and of 60 s for the others."""
    send = client.send
    client.timeout = 2

    def patient(request, **more):
        return send(request, **(more if call in request.url else more | {"timeout": 60}))

    monkeypatch.setattr(client, "send", patient)


@pytest.mark.parametrize("call", ["/containers/create", "/attach?", "/start"])
def test_run_engine_call_never_answered(sandbox, tmp_path, monkeypatch, call):
    real = sandbox._engine
    with hanging(real, tmp_path, call) as hung:
        slow = Sandbox(hung.engine, sandbox.image, 1)
        _only_this_one_hurries(slow._engine.client(), call, monkeypatch)
        with pytest.raises(SandboxError, match="went away"):
            bash(slow, "true")
        assert hung.taken.is_set()
        hung.let_go.set()
        if call == "/containers/create":
            (late,) = wait_for(lambda: own_containers(real, all=True), 60)
            assert not own_containers(real), "made late, and never started"
            container.remove(real, late)
        slow._engine.client().timeout = 60
        assert bash(slow, "echo again").stdout.data == "again\n"
        wait_for(lambda: not own_containers(real, all=True), 60)


def test_probe_program_that_never_ends(sandbox, monkeypatch):
    monkeypatch.setattr(image, "PROBE_S", 2)
    with pytest.raises(SandboxError, match=r"sleep does not run in the image: .*timed out"):
        image._probe(sandbox._engine, sandbox.image.image_id, "/usr/bin/sleep", "600")
    wait_for(lambda: not own_containers(sandbox._engine, all=True), 60)
