import subprocess

import pytest

from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint
from tests.generation.studies import OPENED, generator_of, study_of


@pytest.fixture(autouse=True)
def close_generators():
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def endpoint():
    with Endpoint() as server:
        yield server


@pytest.fixture
def store(tmp_path):
    return AnswerStore(tmp_path / "answers")


@pytest.fixture
def generator(endpoint, store):
    """It asks the endpoint for one model, claude-sonnet-4-6."""
    return generator_of(study_of(), store, endpoint)


@pytest.fixture
def small_disk(tmp_path):
    """A function that mounts a file system of `size` bytes."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(size):
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root mounts a disk")
        return disk

    yield mount
    subprocess.run(["umount", "-l", disk], capture_output=True)
