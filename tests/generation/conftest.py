import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture
def store(tmp_path) -> AnswerStore:
    return AnswerStore(tmp_path / "answers")


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Callable[[int], Path]]:
    """A function that mounts a file system of `size` bytes."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(size: int) -> Path:
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", disk], capture_output=True
        ).returncode:
            pytest.skip("only root mounts a disk")
        return disk

    yield mount
    subprocess.run(["umount", "-l", disk], capture_output=True)
