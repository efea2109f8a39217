"""What every test may use: the real sandbox, opened once a session; and which tests share a worker."""

from pathlib import Path

import pytest

from fluency.common.locks import file_lock
from fluency.common.paths import CACHE
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import Sandbox, open_sandbox

TESTS = Path(__file__).parent
SLOW = (
    "archive/test_hostile_contents.py",
    "archive/test_verify.py::test_an_altered_file_is_found_with_the_manifest_repaired",
    "chaos/",
    "export/",
    "generation/local_model/",
    "generation/test_killed.py",
    "generation/test_replies.py::test_the_deadline_ends_slow_replies",
    "project/test_bench.py",
    "report/test_explorer_answers.py",
    "report/test_explorer_hostile.py",
    "report/test_figures.py",
    "report/test_explorer_use.py",
    "scoring/test_checks_rules.py::test_a_megabyte_is_judged_at_once",
    "scoring/test_composition.py::test_a_model_that_repeats_itself",
    "test_cli.py::test_nothing_to_archive",
    "workflow/test_example.py",
    "workflow/test_plan.py",
    "workflow/test_scheduler.py",
    "world/test_determinism.py::test_sixty_worlds",
)
"""What `make quick` leaves out: a package index, a browser, whole studies, killed runs, forged archives, long texts."""
STUDIES = ("archive/", "chaos/", "export/", "project/", "workflow/")
"""Modules whose engine tests run whole studies, beside those of single containers."""
READS_EVENTS = "workflow/test_reruns.py::test_a_cell_that_three"
"""A study that reads the engine's last 256 events, which tests/execution/test_failures.py makes it forget."""


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox itself: the engine is found or started and the image built if need be; its absence is a failure."""
    with file_lock(
        CACHE / "tests.lock", lambda _: None
    ):  # two workers install and build nothing at the same time
        return open_sandbox(SandboxConfig())


@pytest.fixture(autouse=True)
def _engine(request: pytest.FixtureRequest) -> None:
    """Open the sandbox before whatever needs the engine; skip what needs a PowerShell that the image lacks."""
    if request.node.get_closest_marker("engine"):
        request.getfixturevalue("sandbox")
    needed = request.node.get_closest_marker("pwsh")
    if needed and (why := request.getfixturevalue("sandbox").why_missing("pwsh")):
        pytest.skip(f"the image holds no PowerShell: {why}")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the container engine in two groups, so that two workers share it; the rest by module, for its fixtures."""
    for item in items:
        module = item.path.relative_to(TESTS).as_posix()
        if "sandbox" in getattr(item, "fixturenames", ()):
            item.add_marker("engine")
        if f"{module}::{item.name}".startswith(SLOW):
            item.add_marker("slow")
        apart = module.startswith(STUDIES) and not f"{module}::{item.name}".startswith(READS_EVENTS)
        engine = "studies" if apart else "engine"
        item.add_marker(
            pytest.mark.xdist_group(engine if item.get_closest_marker("engine") else module)
        )
