"""What every test may use: the real sandbox, opened once a session; and which tests share a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import Sandbox, open_sandbox

TESTS = Path(__file__).parent
SLOW = (
    "chaos/",
    "export/",
    "generation/local_model/",
    "generation/test_killed.py",
    "mutate/",
    "project/test_bench.py",
    "report/test_explorer_hostile.py",
    "report/test_figures.py",
    "workflow/test_example.py",
    "workflow/test_scheduler.py",
)
"""Modules that `make quick` leaves out: a package index, a browser, whole studies, hundreds of killed runs."""


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


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that needs the container engine on one worker; of the rest, each module, whose fixtures it shares."""
    for item in items:
        module = item.path.relative_to(TESTS).as_posix()
        if "sandbox" in getattr(item, "fixturenames", ()):
            item.add_marker("engine")
        if module.startswith(SLOW):
            item.add_marker("slow")
        item.add_marker(pytest.mark.xdist_group("engine" if item.get_closest_marker("engine") else module))
