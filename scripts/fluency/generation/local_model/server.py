"""The embedded model as a server of this run: started when first needed, gone when the run is gone.

The model runs in a process of its own. Inside the run's process it would hold the interpreter's lock
while it loads (1-3 s in which no container could be read), and a crash of its C++ code would take the
run along; both were measured. The child ends when the pipe to its parent does, so no server and no port
outlives the run, also after kill -9.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

import psutil

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig
from fluency.generation.local_model.weights import ensure_weights

START_S = 180.0
CONTEXT_TOKENS = 4096
CONTEXT_BYTES = 400_000_000
CGROUP = Path("/sys/fs/cgroup")


def _hint(why: str) -> str:
    """What to do about a server that did not start."""
    if "libgomp" in why:
        return "install the OpenMP runtime that llama.cpp needs: apt-get install libgomp1"
    return "remove this file and run again to fetch it afresh; if memory is short, take a smaller model"


class EmbeddedServer:
    """A model behind llama.cpp's own server on a free loopback port; a context manager.

    It computes one answer at a time, of `context` tokens with its prompt, so that the same prompt, sampling and seed
    give the same text again on the same machine.
    """

    def __init__(self, weights: Path, model_id: str, context: int = CONTEXT_TOKENS) -> None:
        self.weights, self.model_id, self.context = Path(weights), model_id, context
        self.address: str | None = None
        self._owner = os.getpid()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        """What a client of Chat Completions takes as its base URL."""
        return f"{self.address}/v1"

    @property
    def alive(self) -> bool:
        """Whether the server's process runs."""
        return self._child is not None and self._child.poll() is None

    def __enter__(self) -> EmbeddedServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Load the model; returns when it can be asked. UserError if it cannot be, with the reason."""
        if not self.weights.is_file():
            raise UserError("there are no weights", where=str(self.weights), hint="run `make demo`, which fetches them")
        check_memory(self.weights.stat().st_size, self.model_id)
        command = [sys.executable, "-m", "fluency.generation.local_model.serve", str(self.weights), self.model_id]
        command += [str(choose_threads()), str(self.context)]
        # Threads of OpenMP that wait passively leave their processor to a container that needs it.
        environment = dict(os.environ, OMP_WAIT_POLICY="passive", PYTHONPATH=str(Path(__file__).parents[3]))
        with tempfile.TemporaryFile() as log:
            self._child = child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is the run's to handle: answers on their way still arrive
            )
            atexit.register(self.stop)
            assert child.stdout is not None  # it is a pipe
            ready = _first_line(child.stdout)
            if "address" not in ready:
                self.stop()
                log.seek(0)
                last = log.read().decode(errors="replace").strip().splitlines()[-1:]
                why = ready.get("error") or " ".join(last) or "it ended at once"
                raise UserError(f"the embedded model did not start: {why}", where=str(self.weights), hint=_hint(why))
        self.address = ready["address"]

    def stop(self) -> None:
        """End the server and wait until its port is free; safe to call twice and from a fork."""
        child, self._child = self._child, None
        if child is None or os.getpid() != self._owner:
            return
        atexit.unregister(self.stop)
        try:
            child.communicate(timeout=5)  # which closes its standard input
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()


def _first_line(output: IO[bytes]) -> dict[str, Any]:
    """What the child writes when it is ready, or cannot be."""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        if not selector.select(START_S):
            return {"error": f"it was not ready within {START_S:.0f} s"}
    ready: dict[str, Any] = json.loads(output.readline().strip() or b"{}")
    return ready


_servers: dict[str, EmbeddedServer] = {}
_starting = threading.Lock()


def base_url(model: ModelConfig) -> str:
    """Where an embedded model is served; fetches its weights and starts its server when first called.

    Safe from any thread. UserError if the model cannot be served.
    """
    with _starting:
        if model.id not in _servers:
            server = EmbeddedServer(ensure_weights(model.id), model.id)
            server.start()
            _servers[model.id] = server
        return _servers[model.id].base_url


# ------------------------------------------------------------ what this machine can spare


def processors(cgroup: Path = CGROUP) -> int:
    """Processors this process may use: those it may run on, or fewer if a quota is set."""
    allowed = len(os.sched_getaffinity(0))
    try:
        quota, period = (cgroup / "cpu.max").read_text().split()
        return max(1, min(allowed, int(int(quota) / int(period))))
    except (OSError, ValueError):
        return allowed


def choose_threads(available: int | None = None) -> int:
    """Half the processors, at least one and at most four, so that the containers keep the others.

    llama.cpp's threads wait for one another at every layer: as soon as one has to share its processor,
    all of them wait for it. One thread on two processors kept 12 tokens/s next to two busy processes where
    two threads fell from 18 to 1.
    """
    return max(1, min(4, (processors() if available is None else available) // 2))


def available_memory(cgroup: Path = CGROUP) -> int:
    """Bytes that can be taken without swapping, of the machine or of this container."""
    available: int = psutil.virtual_memory().available
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        return min(available, max(0, limit - used))
    except (OSError, ValueError):
        return available


def check_memory(weights_bytes: int, model_id: str, available: int | None = None) -> None:
    """UserError if a model with weights of this size would not fit.

    It takes 1.3 times the file, and the context with its work space; both as measured.
    """
    available = available_memory() if available is None else available
    needed = int(weights_bytes * 1.3) + CONTEXT_BYTES
    if available < needed:
        raise UserError(
            f"there is not enough memory for the embedded model: it needs {needed / 1e6:.0f} MB, "
            f"{available / 1e6:.0f} MB are available",
            where=f"models: {model_id}",
            hint="close other programs, take a smaller model, or set served_by: endpoint and a base_url",
        )
