"""What every test may use: the real sandbox, opened once; and which tests share a worker."""

from collections import Counter
from pathlib import Path

import pytest

from fluency.common.locks import file_lock
from fluency.common.paths import CACHE
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import Sandbox, open_sandbox

TESTS = Path(__file__).parent
NAME = DESIGN_SHELLS[1]
SLOW = (
    "archive/test_hostile_contents.py",
    "chaos/",
    "export/",
    "generation/local_model/",
    "generation/test_killed.py",
    "project/test_bench.py",
    "scoring/test_checks_rules.py::test_judge_megabyte_in_linear_time",
    "scoring/test_composition.py::test_parse_long_repetition",
    "test_cli.py::test_nothing_to_archive",
    "workflow/test_run_plan.py",
    "workflow/test_scheduler.py",
    "world/test_determinism.py::test_sixty_worlds",
)
"""What `make quick` leaves out, and every test in a browser: package indexes, studies, long texts."""
STUDIES = ("archive/", "chaos/", "export/", "project/", "workflow/")
"""Folders whose engine tests run whole studies; each is a separate group."""
NO_PWSH = "image holds no PowerShell"
"""In every reason to skip a test for the lack of it."""


@pytest.fixture(scope="session")
def sandbox():
    """The sandbox: engine found or started, image built if need be; its absence is a failure."""
    # Two workers install and build nothing at the same time.
    with file_lock(CACHE / "tests.lock", lambda _: None):
        return open_sandbox(SandboxConfig())


@pytest.fixture(scope="session")
def engine(sandbox: Sandbox):
    """The container engine that the sandbox uses."""
    return sandbox._engine


@pytest.fixture(autouse=True)
def _open_for_marked(request):
    """Open the sandbox for a test of the engine; skip one that needs a missing PowerShell."""
    if request.node.get_closest_marker("engine"):
        request.getfixturevalue("sandbox")
    if not request.node.get_closest_marker("pwsh"):
        return
    sandbox = request.getfixturevalue("sandbox")
    if why := sandbox.why_missing(NAME):
        pytest.skip(why)
    pinned = "" if NAME not in sandbox.images[NAME].unofficial else " (not the pinned release)"
    setattr(request.node, PWSH, f"{sandbox.images[NAME].shells[NAME]}{pinned}")


@pytest.fixture
def zsh(monkeypatch):
    """A third shell, with Bash's grammar."""
    named = {"name": "zsh", "title": "Zsh 5", "short_title": "Zsh"}
    entry = SHELLS["bash"].model_copy(update=named)
    monkeypatch.setitem(SHELLS, "zsh", entry)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(items):
    """Share tests among workers: single containers, the studies of each folder, other modules."""
    for item in items:
        module = item.path.relative_to(TESTS).as_posix()
        fixtures = getattr(item, "fixturenames", ())
        if "sandbox" in fixtures:
            item.add_marker("engine")
        if "browser" in fixtures or f"{module}::{item.name}".startswith(SLOW):
            item.add_marker("slow")
        engine = module.split("/")[0] if module.startswith(STUDIES) else "engine"
        group = engine if item.get_closest_marker("engine") else module
        item.add_marker(pytest.mark.xdist_group(group))
    # The longest groups begin first, so that no worker waits at the end for one of them.
    items.sort(key=lambda item: not item.get_closest_marker("engine"))


PWSH = "_pwsh"
"""A test's property: the version of the PowerShell that it ran on."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Note PowerShell's version in the reports of the tests that ran commands in it."""
    report = (yield).get_result()
    if report.when == "call" and (ran := getattr(item, PWSH, "")):
        report.user_properties.append((PWSH, ran))


def pytest_terminal_summary(terminalreporter):
    """How many tests ran on a real PowerShell, and which one."""
    stats = terminalreporter.stats
    reports = [*stats.get("passed", []), *stats.get("failed", [])]
    properties = [pair for report in reports for pair in report.user_properties]
    ran = Counter(text for name, text in properties if name == PWSH)
    for version, count in ran.items():
        terminalreporter.write_line(f"{count} tests ran on PowerShell {version}")
    skipped = [each for each in stats.get("skipped", []) if NO_PWSH in str(each.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests skipped: {NO_PWSH}")
