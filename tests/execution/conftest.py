from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture
def second_daemon(sandbox) -> None:
    """Skip what starts a dockerd of its own where there is none to start; the sandbox came first and may have installed it."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("starts a second dockerd, which needs root and dockerd itself")
