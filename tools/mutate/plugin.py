"""The part that runs inside pytest: which test covers which line, how long each takes, which are to run.

MUTATE_TIMES names the file that the tests' times are written to; MUTATE_TESTS the file that lists the tests to run.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

MEMORY_BYTES = (
    8 << 30
)  # of data: a fault may make a loop endless; a browser only reserves more than that
_times: dict[str, dict[str, float | str]] = {}


def pytest_configure() -> None:
    """Keep a fault from taking the machine's memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count what runs now as this test's."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember how long a test took, and whether it passed."""
    known = _times.setdefault(report.nodeid, {"seconds": 0.0, "outcome": "passed"})
    known["seconds"] = float(known["seconds"]) + report.duration
    if report.outcome != "passed":
        known["outcome"] = report.outcome


def pytest_sessionfinish() -> None:
    """Write down what was remembered."""
    if "MUTATE_TIMES" in os.environ:
        Path(os.environ["MUTATE_TIMES"]).write_text(json.dumps(_times), encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the listed tests, in the list's order."""
    if "MUTATE_TESTS" in os.environ:
        wanted = json.loads(Path(os.environ["MUTATE_TESTS"]).read_text(encoding="utf-8"))
        place = {name: number for number, name in enumerate(wanted)}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )
