"""Locks of names: among threads, among processes, released by death, without a trace on the disk."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from fluency.common.errors import CallError
from fluency.generation.locks import exclusive

HOLDER = """
import sys
from pathlib import Path
from fluency.generation.locks import exclusive
with exclusive(Path(sys.argv[1]), "a", timeout_s=5):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_thread_at_a_time_holds_a_name(tmp_path):
    inside, most, count = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, count
        for _ in range(20):
            with exclusive(tmp_path / "lock", "a", timeout_s=30):
                inside += 1
                most = max(most, inside)
                value = count
                count = value + 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, count) == (1, 80)


def test_another_process_holds_a_name_until_it_is_killed(tmp_path):
    path = tmp_path / "new" / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with exclusive(path, "b", timeout_s=0):
            pass  # other names are free
        with pytest.raises(CallError, match="another run has held") as caught, exclusive(path, "a", timeout_s=0.1):
            pass
        assert "Hint:" in str(caught.value)
        holder.kill()
        holder.wait()
        with exclusive(path, "a", timeout_s=5):
            pass
    assert [file.name for file in path.parent.iterdir()] == ["lock"]
    assert path.stat().st_size == 0


def test_waiting_can_be_called_off(tmp_path):
    def stop() -> None:
        raise KeyError("stopped")

    path = tmp_path / "lock"
    with (
        exclusive(path, "a", timeout_s=5),
        pytest.raises(KeyError),
        exclusive(path, "a", while_waiting=stop, timeout_s=60),
    ):
        pass
    with exclusive(tmp_path / "lock", "a", timeout_s=0):
        pass
