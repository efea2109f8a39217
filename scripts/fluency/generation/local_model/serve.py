"""The process that holds the model: POST /v1/messages on a loopback port until its standard input ends.

`python -m fluency.generation.local_model.serve WEIGHTS MODEL_ID THREADS PARALLEL CONTEXT` writes one JSON line, either
{"port": …} or {"error": …}, to standard output. The parent keeps the other end of standard input: when
the parent goes, in whatever way, the pipe ends and this process with it.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import xllamacpp  # type: ignore[import-untyped]  # it ships no types

from fluency.generation.local_model.translation import error_body, from_chat, to_chat

MOST_BYTES = 8_000_000


class Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    model: Any
    model_id: str

    def do_GET(self) -> None:
        """`/health`, once the model is loaded."""
        if self.path == "/health":
            return self._send(200, {"status": "ok", "model": self.model_id})
        self._send(404, error_body(404, "this server has POST /v1/messages only"))

    def do_POST(self) -> None:
        """`/v1/messages`."""
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST_BYTES:
            self.close_connection = True
            return self._send(413, error_body(413, f"more than {MOST_BYTES} bytes"))
        data = self.rfile.read(length)
        if self.path.split("?")[0] != "/v1/messages":
            return self._send(404, error_body(404, "this server has POST /v1/messages only"))
        self._send(*self._answer(data))

    def _answer(self, data: bytes) -> tuple[int, dict[str, Any]]:
        try:
            reply = self.model.handle_chat_completions(to_chat(json.loads(data)))
        except ValueError as error:
            return 400, error_body(400, str(error))
        except Exception as error:
            return 500, error_body(500, f"{type(error).__name__}: {error}")
        if isinstance(reply, dict) and reply.get("choices"):
            return 200, from_chat(reply, self.model_id)
        problem = reply.get("error", {}) if isinstance(reply, dict) else {}
        code = problem.get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        return status, error_body(status, problem.get("message", "llama.cpp gave no answer"))

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the run's own records say what was asked."""


class Listener(socketserver.ThreadingTCPServer):
    """A listener that neither looks up host names nor complains of clients that went away."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no event."""


def load(path: str, threads: int, parallel: int, context: int) -> Any:
    """The model in memory, ready to answer."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = parallel
    params.n_ctx = context * parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.cache_ram_mib = 0
    params.ui = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def watch_parent(parent: int) -> None:
    """End this process when the parent is gone, without the library's clean-up, which can crash.

    The pipe tells at once; asking for the parent's id helps when a fork of the parent holds the pipe.
    """

    def until_pipe_ends() -> None:
        while os.read(0, 4096):
            pass
        os._exit(0)

    def until_orphaned() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(0)

    for target in (until_pipe_ends, until_orphaned):
        threading.Thread(target=target, daemon=True).start()


def main(arguments: list[str]) -> None:
    """Load, say where, serve."""
    path, model_id, *numbers = arguments
    tell = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the library's own prints must not look like the line the parent reads
    watch_parent(os.getppid())
    try:
        Handler.model = load(path, *map(int, numbers))
        Handler.model_id = model_id
        listener = Listener(("127.0.0.1", 0), Handler)
    except Exception as error:
        tell.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        os._exit(1)
    tell.write(json.dumps({"port": listener.server_address[1]}) + "\n")
    listener.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
