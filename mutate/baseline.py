"""The faultless run: which tests pass, how long each takes, and which lines it covers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coverage import CoverageData

from fluency.common.files import sha256, write_atomic
from mutate.faults import normal_form


@dataclass(frozen=True)
class Project:
    """What is mutated (`sources`, folders relative to `root`), and by which tests it is to be noticed."""

    root: Path
    sources: tuple[str, ...]
    package_root: str = "scripts"
    tests: tuple[str, ...] = ("tests",)
    options: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """The files of the tree, relative: what git holds or would take in."""
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=True).stdout
        return sorted(name for name in listed.splitlines() if (self.root / name).is_file())

    def mutable(self) -> list[str]:
        """The files that faults are put into."""
        return [n for n in self.files() if n.endswith(".py") and n.startswith(tuple(f"{s}/" for s in self.sources))]

    def sha256(self) -> str:
        """One hash over the tree: results of another tree are not taken up again."""
        return sha256("".join(f"{name} {sha256((self.root / name).read_bytes())}\n" for name in self.files()))

    def copy_to(self, folder: Path) -> None:
        """The tree anew, so that the work tree is never touched; what is mutated in its normal form."""
        for name in self.files():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.root / name, folder / name)
        for name in self.mutable():
            (folder / name).write_text(normal_form((folder / name).read_text(encoding="utf-8")), encoding="utf-8")
        if (self.root / ".venv").exists():
            (folder / ".venv").symlink_to((self.root / ".venv").resolve())

    def pytest(self, folder: Path) -> list[str]:
        """The command that runs tests of a copy, each time the same way."""
        plugins = ("-p", "mutate.plugin", "-p", "no:cacheprovider")
        always = (*plugins, "--hypothesis-seed=0", "-q", "--durations=0", f"--basetemp={folder}/tmp")
        return [sys.executable, "-m", "pytest", *always, *self.options]

    def environment(self, folder: Path, **more: str) -> dict[str, str]:
        """The environment in which the copy's own code is imported, also by the processes that a test starts."""
        places = (folder, folder / self.package_root, Path(__file__).parents[1])
        return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))} | more


@dataclass
class Baseline:
    """`seconds` of each test that passes without a fault; `covered`: the tests by file and line of its normal form."""

    seconds: dict[str, float]
    covered: dict[str, dict[int, set[str]]] = field(repr=False)

    def tests_of(self, file: str, lines: Sequence[int]) -> list[str]:
        """The tests that run one of the lines, the quickest first."""
        known = self.covered.get(file, {})
        return self._quickest_first(set().union(*(known.get(line, ()) for line in lines)))

    def further_tests_of(self, file: str) -> list[str]:
        """The tests that run any line of the file, and those of its package's folder, the quickest first.

        A line that runs at import, or whose result is kept for all that ask later, is covered by no test or by one.
        """
        folders = {f"tests/{part}/" for part in Path(file).parts}
        beside = {test for test in self.seconds if test.startswith(tuple(folders))}
        return self._quickest_first(beside.union(*self.covered.get(file, {}).values()))

    def _quickest_first(self, tests: set[str]) -> list[str]:
        return sorted(tests & self.seconds.keys(), key=lambda test: (self.seconds[test], test))


def measure(project: Project, folder: Path, kept: Path) -> Baseline:
    """The baseline of a tree, run in its copy at `folder`; what `kept` holds of the same tree is taken up again."""
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, json.dumps(_measured(project, folder)))
    known = json.loads(kept.read_text(encoding="utf-8"))
    names = list(known["seconds"])
    covered = {
        file: {int(line): {names[number] for number in numbers} for line, numbers in lines.items()}
        for file, lines in known["covered"].items()
    }
    return Baseline(known["seconds"], covered)


def _measured(project: Project, folder: Path) -> dict[str, Any]:
    """As JSON: the seconds by test, and by file and line the numbers of the tests."""
    times, data, settings = folder / "times.json", folder / "coverage.data", folder / "coverage.ini"
    settings.write_text(f"[run]\nsource = {project.package_root}\ndata_file = {data}\n", encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *project.pytest(folder)[1:]]
    environment = project.environment(folder, MUTATE_TIMES=str(times))
    subprocess.run([*command, *project.tests], cwd=folder, env=environment, check=False)
    ran = json.loads(times.read_text(encoding="utf-8"))
    seconds = {test: each["seconds"] for test, each in ran.items() if each["outcome"] == "passed"}
    number_of = {test: number for number, test in enumerate(seconds)}
    measured = CoverageData(str(data))
    measured.read()
    covered: dict[str, dict[int, list[int]]] = {}
    for path in measured.measured_files():
        by_line = measured.contexts_by_lineno(path)
        covered[str(Path(path).relative_to(folder))] = {
            line: sorted(number_of[test] for test in tests if test in number_of) for line, tests in by_line.items()
        }
    return {"seconds": seconds, "covered": covered}
