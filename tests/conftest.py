"""What every test may use: the real sandbox, opened once a session."""

from __future__ import annotations

import pytest

from fluency.core.study import SandboxConfig
from fluency.execution.sandbox.sandbox import Sandbox, open_sandbox


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox itself: the engine is found or started and the image built if need be; its absence is a failure."""
    return open_sandbox(SandboxConfig())


@pytest.fixture(autouse=True)
def _powershell(request: pytest.FixtureRequest) -> None:
    """Skip what needs PowerShell where the image has none, with the reason."""
    needed = request.node.get_closest_marker("pwsh")
    if needed and (why := request.getfixturevalue("sandbox").why_missing("pwsh")):
        pytest.skip(f"the image holds no PowerShell: {why}")
