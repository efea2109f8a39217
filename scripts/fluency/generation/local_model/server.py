"""The embedded model as a server of this run: started when first needed, ended with the run.

It is a separate process: in the run's process it would hold the interpreter's lock while it loads
(1-3 s in which no container could be read), and a crash of its C++ code would end the run. It ends
when the pipe to its parent does, also by kill -9.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import psutil

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig
from fluency.generation.local_model.weights import ensure_weights

START_S = 180.0
CONTEXT_TOKENS = 4096
CONTEXT_BYTES = 400_000_000
CGROUP = Path("/sys/fs/cgroup")


class EmbeddedServer:
    """A model behind llama.cpp's own server on a free loopback port.

    It computes one answer at a time, so that a prompt, sampling and seed give the same text again
    on the same machine. `context`: tokens of a prompt and its answer.
    """

    def __init__(self, weights: Path, model_id: str, context: int = CONTEXT_TOKENS) -> None:
        """Load the model; UserError with the reason if it cannot be asked."""
        check_memory(weights.stat().st_size, model_id)
        command = [sys.executable, "-m", "fluency.generation.local_model.serve", str(weights)]
        command += [model_id, str(choose_threads(processors())), str(context)]
        # OpenMP's threads then wait without using a processor that a container needs.
        environment = {"OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(Path(__file__).parents[3])}
        with tempfile.TemporaryFile() as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | environment,
                # No Ctrl-C from the terminal: the run still collects the running answers.
                start_new_session=True,
            )
            output = self._child.stdout
            assert output is not None  # it is a pipe
            ready: dict[str, Any] = {"error": f"it was not ready within {START_S:.0f} s"}
            if select.select([output], [], [], START_S)[0]:
                ready = json.loads(output.readline().strip() or b"{}")
            if "address" not in ready:
                self.stop()
                log.seek(0)
                last = log.read().decode(errors="replace").strip().rpartition("\n")[2]
                why = ready.get("error") or last or "it ended at once"
                hint = "remove this file to fetch it again; if memory is short, use a smaller model"
                if "libgomp" in why:
                    hint = "install OpenMP, which llama.cpp needs: apt-get install libgomp1"
                what = f"the embedded model did not start: {why}"
                raise UserError(what, where=weights, hint=hint)
        self.address: str = ready["address"]

    def stop(self) -> None:
        """End the server and wait until its port is free."""
        try:
            self._child.communicate(timeout=5)  # which closes its standard input
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()


_servers: dict[str, EmbeddedServer] = {}
_starting = threading.Lock()


def address_of(model: ModelConfig) -> str | None:
    """Where a model is served, None for the wire's own address.

    It starts the server of an embedded model; safe for threads. UserError if that fails.
    """
    if model.base_url or not model.is_embedded:
        return model.base_url
    with _starting:
        if model.id not in _servers:
            _servers[model.id] = EmbeddedServer(ensure_weights(model.id), model.id)
        return f"{_servers[model.id].address}/v1"


# ------------------------------------------------------------ resources of this machine


def processors() -> int:
    """Whole processors for this process, by its affinity and the control group's quota."""
    allowed = len(os.sched_getaffinity(0))
    try:
        quota, period = (CGROUP / "cpu.max").read_text().split()
        return min(allowed, int(quota) // int(period))
    except (OSError, ValueError):
        return allowed


def choose_threads(available: int) -> int:
    """Half the processors, at least one and at most four; the others are for the containers.

    llama.cpp's threads wait for one another at every layer, so one that shares its processor slows
    down all: next to two busy processes on two processors, one thread kept 12 tokens/s, two threads
    fell from 18 to 1.
    """
    return max(1, min(4, available // 2))


def available_memory() -> int:
    """Bytes available without swapping, of the machine or of this container."""
    available: int = psutil.virtual_memory().available
    try:
        limit, used = (
            int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current")
        )
        return min(available, max(0, limit - used))
    except (OSError, ValueError):
        return available


def check_memory(weights_bytes: int, model_id: str) -> None:
    """UserError if a model does not fit: it takes 1.3 times its file, and CONTEXT_BYTES."""
    needed, available = int(weights_bytes * 1.3) + CONTEXT_BYTES, available_memory()
    if available < needed:
        amounts = f"it needs {needed / 1e6:.0f} MB, {available / 1e6:.0f} MB are available"
        what = f"there is not enough memory for the embedded model: {amounts}"
        hint = "use a smaller model, or set served_by: endpoint and a base_url"
        raise UserError(what, where=f"models: {model_id}", hint=hint)
