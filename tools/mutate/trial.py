"""Whether a test notices a fault: one fault after the other in a copy of the tree, several copies at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from tools.mutate.baseline import Baseline, Project
from tools.mutate.faults import Fault, lines_of, with_fault

START_S = 60.0
"""What pytest may need before its first test, on a busy machine."""
TIMES_SLOWER = 5.0
"""A fault that makes the tests take this many times longer is noticed by the time limit."""
OWN_TESTS_S = 60.0
"""How many seconds of the tests that run its line a fault is tried with."""
FURTHER_TESTS_S = 20.0
"""How many seconds of further tests, if none of these notices it."""


@dataclass(frozen=True)
class Trial:
    """What became of a fault. `by` names the test that failed first, or `time limit`, or `import`; None: none did."""

    fault: Fault
    by: str | None
    tests: int


class Trials:
    """Runs faults; each worker has a copy of the tree below `folder`."""

    def __init__(self, project: Project, baseline: Baseline, folder: Path, workers: int) -> None:
        self._project = project
        self._baseline = baseline
        self._workers = workers
        self._copies: queue.Queue[Path] = queue.Queue()
        for number in range(workers):
            copy = folder / f"worker-{number}"
            project.copy_to(copy)
            self._copies.put(copy)

    def run(self, faults: Sequence[Fault]) -> Iterator[Trial]:
        """The trials of the faults, in their order."""
        with ThreadPoolExecutor(self._workers) as pool:
            yield from pool.map(self._trial, faults)

    def _trial(self, fault: Fault) -> Trial:
        source = (self._project.root / fault.file).read_text(encoding="utf-8")
        own = self._within(
            OWN_TESTS_S, set(), self._baseline.tests_of(fault.file, lines_of(source, fault))
        )
        further = self._within(
            FURTHER_TESTS_S, set(own), self._baseline.further_tests_of(fault.file)
        )
        copy = self._copies.get()
        try:
            with _changed(copy / fault.file, with_fault(source, fault)):
                by = self._noticed_by(copy, own) or self._noticed_by(copy, further)
        finally:
            self._copies.put(copy)
        return Trial(fault, by, len(own) + len(further))

    def _within(self, seconds: float, known: set[str], tests: Sequence[str]) -> list[str]:
        chosen = []
        for test in tests:
            if test not in known and self._baseline.seconds[test] <= seconds:
                seconds -= self._baseline.seconds[test]
                chosen.append(test)
        return chosen

    def _noticed_by(self, copy: Path, tests: Sequence[str]) -> str | None:
        if not tests:
            return None
        listed, times = copy / "mutate-tests.json", copy / "mutate-times.json"
        listed.write_text(json.dumps(tests), encoding="utf-8")
        times.unlink(missing_ok=True)
        environment = self._project.environment(
            copy, MUTATE_TESTS=str(listed), MUTATE_TIMES=str(times)
        )
        files = sorted({test.partition("::")[0] for test in tests})
        limit_s = START_S + TIMES_SLOWER * sum(self._baseline.seconds[test] for test in tests)
        code = _exit_code([*self._project.pytest(copy), "-x", *files], copy, environment, limit_s)
        if code == 0:
            return None
        if code is None:
            return "time limit"
        ran = json.loads(times.read_text(encoding="utf-8")) if times.is_file() else {}
        return next((test for test, each in ran.items() if each["outcome"] == "failed"), "import")


def _exit_code(
    command: Sequence[str], folder: Path, environment: dict[str, str], limit_s: float
) -> int | None:
    """A command's exit code; None if it and all that it started had to be killed at the limit."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None


@contextlib.contextmanager
def _changed(path: Path, text: str) -> Iterator[None]:
    """Give a file another text for a while, and remove what Python compiled of it."""
    before = path.read_text(encoding="utf-8")
    try:
        _write(path, text)
        yield
    finally:
        _write(path, before)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()
