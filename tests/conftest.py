"""What every test may use: the real sandbox, opened once a session; and which tests share a worker."""

from __future__ import annotations

import pytest

from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import Sandbox, open_sandbox


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that needs the container engine on one worker; of the rest, each module, whose fixtures it shares."""
    for item in items:
        engine = item.get_closest_marker("engine") or "sandbox" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("engine" if engine else item.nodeid.partition("::")[0]))
