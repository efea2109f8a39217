import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path():
    """A folder whose path is short: the sockets of an engine below it have at most 108 characters."""
    with tempfile.TemporaryDirectory(prefix="fluency-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def second_daemon(sandbox):
    """Skip what starts a second dockerd where it cannot; the sandbox fixture may have installed it."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("starts a second dockerd, which needs root and dockerd itself")
