"""A disk that is full while the base is imported: a sentence with a hint. On an engine whose storage is a small tmpfs."""

import subprocess
import time
from collections.abc import Iterator

import pytest

from fluency.common.errors import SandboxError
from fluency.execution.engine import Engine, find_engine
from fluency.execution.image import ensure_image

pytestmark = pytest.mark.engine
STAND_IN = """#!/bin/sh
for last; do :; done
head -c 150M /dev/urandom > "$last.d" && tar -cf "$last" -C / "${last#/}.d" 2>/dev/null
"""


@pytest.fixture
def small_engine(second_daemon, tmp_path, monkeypatch) -> Iterator[Engine]:
    """An engine of the test's own with 48 MB of disk, without network, and so without a registry."""
    url, data = f"unix://{tmp_path}/d.sock", tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("DOCKER_HOST", url)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(data)], check=True)
    command = f"unshare --net dockerd -H {url} --data-root {data} --exec-root {tmp_path}/exec --pidfile {tmp_path}/pid"
    with (tmp_path / "log").open("wb") as log:
        daemon = subprocess.Popen([*command.split(), "--bridge=none", "--iptables=false"], stdout=log, stderr=log)
    try:
        yield _answering()
    finally:
        daemon.terminate()
        daemon.wait(30)
        subprocess.run(["umount", "-l", str(data)], check=True)


def _answering() -> Engine:
    for _ in range(300):
        try:
            return find_engine()
        except SandboxError:
            time.sleep(0.1)
    return find_engine()


def test_it_is_told_in_a_sentence(small_engine, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mmdebstrap").write_text(STAND_IN)
    (tmp_path / "bin" / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    with pytest.raises(SandboxError, match="the disk is full") as caught:
        ensure_image(engine=small_engine)
    assert "docker system prune" in caught.value.hint and caught.value.where == "sandbox image"
