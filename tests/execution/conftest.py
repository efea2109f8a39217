import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluency.execution import container


@pytest.fixture(scope="session", autouse=True)
def _own_label() -> Iterator[None]:
    """A label for this test run's containers: others use the same engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(container.LABELS, container.LABEL, secrets.token_hex(4))
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder whose path is short: the sockets of an engine below it have at most 108 characters."""
    with tempfile.TemporaryDirectory(prefix="fluency-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def second_daemon(sandbox) -> None:
    """Skip what starts a second dockerd where it cannot; the sandbox fixture may have installed it."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("starts a second dockerd, which needs root and dockerd itself")
