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

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig
from fluency.generation.local_model.machine import check_memory, choose_threads
from fluency.generation.local_model.weights import ensure_weights

START_S = 180.0
CONTEXT_TOKENS = 4096


def _hint(why: str) -> str:
    """What to do about a server that did not start."""
    if "libgomp" in why:
        return "install the OpenMP runtime that llama.cpp needs: apt-get install libgomp1"
    return "remove this file and run again to fetch it afresh; if memory is short, take a smaller model"


class EmbeddedServer:
    """A model behind llama.cpp's own server on a free loopback port; a context manager.

    `threads` compute threads (default: half the processors, at most four), `parallel` answers at a time,
    each with `context` tokens of prompt and answer. With `parallel` 1 the same prompt, sampling and seed
    give the same text again on the same machine; with more, answers computed together differ in the last
    digits and so, now and then, in a word.
    """

    def __init__(
        self,
        weights: Path,
        model_id: str,
        threads: int | None = None,
        parallel: int = 1,
        context: int = CONTEXT_TOKENS,
    ) -> None:
        self.weights = Path(weights)
        self.model_id = model_id
        self.threads = threads or choose_threads()
        self.parallel = parallel
        self.context = context
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
        numbers = [str(self.threads), str(self.parallel), str(self.context)]
        command = [
            sys.executable,
            "-m",
            "fluency.generation.local_model.serve",
            str(self.weights),
            self.model_id,
            *numbers,
        ]
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
            said = _first_line(child.stdout)
            if "address" not in said:
                self.stop()
                log.seek(0)
                last = log.read().decode(errors="replace").strip().splitlines()[-1:]
                why = said.get("error") or " ".join(last) or "it ended at once"
                raise UserError(f"the embedded model did not start: {why}", where=str(self.weights), hint=_hint(why))
        self.address = said["address"]

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
    """What the child says when it is ready, or cannot be."""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        if not selector.select(START_S):
            return {"error": f"it was not ready within {START_S:.0f} s"}
    said: dict[str, Any] = json.loads(output.readline().strip() or b"{}")
    return said


_servers: dict[str, EmbeddedServer] = {}
_starting = threading.Lock()


def base_url(model: ModelConfig) -> str:
    """Where an embedded model is served; fetches its weights and starts its server when first asked.

    Safe from any thread, cheap once the server runs, so ask before every call: a server that died (the
    kernel's memory killer, say) is started again. UserError if the model cannot be served.
    """
    with _starting:
        server = _servers.get(model.id)
        if server is None or not server.alive:
            server = EmbeddedServer(ensure_weights(model.id), model.id)
            server.start()
            _servers[model.id] = server
        return server.base_url
