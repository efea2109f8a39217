"""A disk that is full while the base is imported: a sentence with a hint. On an engine whose storage is a small tmpfs."""

import subprocess
from collections.abc import Iterator

import pytest

from fluency.common.errors import SandboxError
from fluency.execution.engine import Engine, find_engine
from fluency.execution.image import ensure_image
from tests.execution.run_it import own_daemon

pytestmark = pytest.mark.engine
STAND_IN = """#!/bin/sh
for last; do :; done
head -c 150M /dev/urandom > "$last.d" && tar -cf "$last" -C / "${last#/}.d" 2>/dev/null
"""


@pytest.fixture
def small_engine(second_daemon, tmp_path, monkeypatch) -> Iterator[Engine]:
    """An engine of the test's own with 48 MB of disk, without network, and so without a registry."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(data)], check=True)
    with own_daemon(tmp_path):
        yield find_engine()
    subprocess.run(["umount", "-l", str(data)], check=True)


def test_it_is_told_in_a_sentence(small_engine, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mmdebstrap").write_text(STAND_IN)
    (tmp_path / "bin" / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    with pytest.raises(SandboxError, match="the disk is full") as caught:
        ensure_image(engine=small_engine)
    assert "docker system prune" in caught.value.hint and caught.value.where == "sandbox image"
