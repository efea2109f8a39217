"""Each benchmark runs, small, as `make bench` runs it."""

import subprocess

import pytest

from fluency.common.paths import ROOT
from tools.bench.__main__ import ALL


@pytest.mark.engine
@pytest.mark.parametrize("name", ALL)
def test_benchmark_runs_small(name):
    command = ["make", "--no-print-directory", "bench", f"NAMES={name}", "SMALL=1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"== {name}\n") and len(done.stdout.splitlines()) > 4, done.stdout
