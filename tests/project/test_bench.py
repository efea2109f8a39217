"""Which benchmarks `make bench` runs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from fluency.common.paths import ROOT
from tools.bench.__main__ import ALL, BY_NAME, chosen


def test_all_without_a_name_else_those_named(capsys: pytest.CaptureFixture) -> None:
    assert chosen([]) == list(ALL)
    assert chosen(["archive", "workflow"]) == ["archive", "workflow"]
    assert chosen(["inspect"]) == ["inspect"] and "inspect" not in ALL
    with pytest.raises(SystemExit):
        chosen(["archive", "speed"])
    assert "there is no benchmark speed; there are workflow, scale" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALL + BY_NAME)
def test_each_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"tools.bench.{name}").main)


def test_a_loop_against_a_peer_is_watched_with_all_it_starts() -> None:
    """The most memory of a process and its child, and the processor time that both took."""
    inspect = importlib.import_module("tools.bench.inspect")
    child = "x = bytearray(80 << 20); import time; time.sleep(3)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent]) as process:
        watch = inspect.Watch(process.pid)
        process.wait()
        watch.end()
    assert 80 << 20 < watch.most["loop"] < 400 << 20
    with_names = inspect.processes()
    assert with_names[os.getpid()]["seconds"] > 0 and os.getppid() == with_names[os.getpid()]["parent"]


def test_make_bench_takes_the_name_of_a_benchmark() -> None:
    said = subprocess.run(["make", "-n", "bench", "inspect"], capture_output=True, text=True, cwd=ROOT).stdout
    assert "python -m tools.bench inspect" in said
