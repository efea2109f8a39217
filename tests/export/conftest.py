"""The environment of envs/interop.lock, made once and kept."""

import pytest

from fluency.common.paths import ROOT
from tests.programs import completed


@pytest.fixture(scope="session")
def interop():
    """Its folder of programs."""
    completed("make", "-s", ".venv-interop/.made")
    return ROOT / ".venv-interop/bin"
