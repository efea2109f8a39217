"""The environment of envs/interop.lock, made once and kept."""

import subprocess

import pytest

from fluency.common.paths import ROOT


@pytest.fixture(scope="session")
def interop():
    """Its folder of programs."""
    command = ["make", "-s", ".venv-interop/.made"]
    made = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / ".venv-interop/bin"
