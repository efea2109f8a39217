"""Which benchmarks `make bench` runs, and that each of them works."""

import importlib
import subprocess
import sys

import pytest

from fluency.common.paths import ROOT
from tools.bench.__main__ import ALL, BY_NAME

USED_BY_SCALE = "noop"
NEEDS_MORE = {
    "slices": "tests/workflow/test_slurm.py starts the same cluster",
    "peer_inspect": "docker compose",
}


def test_every_module_is_run_or_used_and_none_can_stand_for_one_of_python():
    modules = {path.stem for path in (ROOT / "tools/bench").glob("[!_]*.py")}
    assert modules == {*ALL, *BY_NAME, USED_BY_SCALE}
    assert not modules & sys.stdlib_module_names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.engine) if name in ("sandbox", "designed") else name
        for name in ALL + BY_NAME
        if name not in NEEDS_MORE
    ],
)
def test_each_runs_as_make_runs_it(name):
    done = subprocess.run(
        ["make", "--no-print-directory", "bench", f"NAMES={name}", "SMALL=1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"== {name}\n") and len(done.stdout.splitlines()) > 4, done.stdout


@pytest.mark.parametrize("name", NEEDS_MORE)
def test_what_needs_another_program_can_be_imported(name):
    assert callable(importlib.import_module(f"tools.bench.{name}").main)
