"""The run without a fault: which tests pass, how long each takes, and which lines it covers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coverage import CoverageData

from fluency.common.files import sha256, write_atomic
from tools.mutate.faults import normal_form


@dataclass(frozen=True)
class Project:
    """What is mutated (`sources`, folders relative to `root`), and the tests that must notice."""

    root: Path
    sources: tuple[str, ...]
    package_root: str = "scripts"
    tests: tuple[str, ...] = ("tests",)
    options: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ("docs/", "tools/mutate/")
    """Folders whose contents change no trial."""

    def files(self) -> list[str]:
        """The files of the tree, relative: those that git knows or would add."""
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, check=True
        ).stdout
        return sorted(name for name in listed.splitlines() if (self.root / name).is_file())

    def mutable(self) -> list[str]:
        """The files that faults are put into."""
        return [
            n
            for n in self.files()
            if n.endswith(".py") and n.startswith(tuple(f"{s}/" for s in self.sources))
        ]

    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each file of the tree that matters: results of other files are not reused."""
        names = (name for name in self.files() if not name.startswith(self.ignored))
        return {name: sha256((self.root / name).read_bytes()) for name in names}

    def copy_to(self, folder: Path) -> None:
        """Copy the tree, so that the work tree is never changed; the mutable files in their normal form."""
        for name in self.files():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.root / name, folder / name)
        for name in self.mutable():
            (folder / name).write_text(
                normal_form((folder / name).read_text(encoding="utf-8")), encoding="utf-8"
            )
        if (self.root / ".venv").exists():
            (folder / ".venv").symlink_to((self.root / ".venv").resolve())

    def pytest(self, folder: Path) -> list[str]:
        """The command that runs tests of a copy."""
        plugins = ("-p", "tools.mutate.plugin", "-p", "no:cacheprovider")
        # Outside of the tree: a test's own folder must not be within the project.
        temporary = folder.with_name(f"{folder.name}-tmp")
        always = (*plugins, "--hypothesis-seed=0", "-q", "--durations=0", f"--basetemp={temporary}")
        return [sys.executable, "-m", "pytest", *always, *self.options]

    def environment(self, folder: Path, **more: str) -> dict[str, str]:
        """The environment in which the copy's own code is imported, also by the processes that a test starts."""
        places = (folder, folder / self.package_root, Path(__file__).parents[2])
        return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))} | more


@dataclass
class Baseline:
    """`seconds` of each test that passes without a fault; `covered`: the tests by file and line of its normal form."""

    seconds: dict[str, float]
    covered: dict[str, dict[int, set[str]]] = field(repr=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Baseline:
        """What `to_json` gave."""
        names = list(value["seconds"])
        covered = {
            file: {
                int(line): {names[number] for number in numbers} for line, numbers in lines.items()
            }
            for file, lines in value["covered"].items()
        }
        return cls(value["seconds"], covered)

    def to_json(self) -> dict[str, Any]:
        """The seconds by test; by file and line the numbers of the tests, whose names are long."""
        number_of = {test: number for number, test in enumerate(self.seconds)}
        covered = {
            file: {line: sorted(number_of[test] for test in tests) for line, tests in lines.items()}
            for file, lines in self.covered.items()
        }
        return {"seconds": self.seconds, "covered": covered}

    def without(self, files: set[str]) -> Baseline:
        """The same without the tests of these files."""
        seconds = {
            test: spent
            for test, spent in self.seconds.items()
            if test.partition("::")[0] not in files
        }
        covered = {
            file: {line: tests & seconds.keys() for line, tests in lines.items()}
            for file, lines in self.covered.items()
        }
        return Baseline(seconds, covered)

    def with_more(self, more: Baseline) -> Baseline:
        """The tests of both."""
        covered = {file: dict(lines) for file, lines in self.covered.items()}
        for file, lines in more.covered.items():
            for line, tests in lines.items():
                covered.setdefault(file, {})[line] = covered.get(file, {}).get(line, set()) | tests
        return Baseline(self.seconds | more.seconds, covered)

    def tests_of(self, file: str, lines: Sequence[int]) -> list[str]:
        """The tests that run one of the lines, the likeliest to notice first."""
        known = self.covered.get(file, {})
        return self._likeliest_first(file, set().union(*(known.get(line, ()) for line in lines)))

    def further_tests_of(self, file: str) -> list[str]:
        """The tests that run any line of the file, and those of its package's folder, the likeliest to notice first.

        A line that runs at import, or whose result is kept for all that ask later, is covered by no test or by one.
        """
        own = {test for test in self.seconds if _in_own_folder(test, file)}
        return self._likeliest_first(file, own.union(*self.covered.get(file, {}).values()))

    def _likeliest_first(self, file: str, tests: set[str]) -> list[str]:
        """Those of the package's own folder first, then the quickest file; a file's together, which share set-ups."""
        known = tests & self.seconds.keys()
        spent: dict[str, float] = defaultdict(float)
        for test in known:
            spent[test.partition("::")[0]] += self.seconds[test]

        def place(test: str) -> tuple[bool, float, str, float, str]:
            where = test.partition("::")[0]
            return not _in_own_folder(test, file), spent[where], where, self.seconds[test], test

        return sorted(known, key=place)


def _in_own_folder(test: str, file: str) -> bool:
    """Whether a test is in the folder that is named as one of the file's."""
    return test.startswith(tuple(f"tests/{part}/" for part in Path(file).parts))


def measure(project: Project, folder: Path, kept: Path) -> Baseline:
    """The baseline of a tree, run in its copy at `folder`.

    `kept` is reused for the same tree; where only test modules differ, only these are run.
    """
    files = project.hashes()
    before, known = _read(kept) if kept.is_file() else ({}, None)
    other = {name for name in files.keys() | before.keys() if files.get(name) != before.get(name)}
    if known is None or not all(Path(name).name.startswith("test_") for name in other):
        found = _measured(project, folder, project.tests)
    elif other:
        found = known.without(other).with_more(
            _measured(project, folder, sorted(other & files.keys()))
        )
    else:
        return known
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(kept, json.dumps({"files": files} | found.to_json()))
    return found


def _read(kept: Path) -> tuple[dict[str, str], Baseline]:
    value = json.loads(kept.read_text(encoding="utf-8"))
    return value["files"], Baseline.from_json(value)


def _measured(project: Project, folder: Path, tests: Sequence[str]) -> Baseline:
    times, data, settings = folder / "times.json", folder / "coverage.data", folder / "coverage.ini"
    settings.write_text(
        f"[run]\nsource = {project.package_root}\ndata_file = {data}\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "coverage",
        "run",
        f"--rcfile={settings}",
        *project.pytest(folder)[1:],
    ]
    environment = project.environment(folder, MUTATE_TIMES=str(times))
    subprocess.run([*command, *tests], cwd=folder, env=environment, check=False)
    ran = json.loads(times.read_text(encoding="utf-8"))
    seconds = {test: each["seconds"] for test, each in ran.items() if each["outcome"] == "passed"}
    measured = CoverageData(str(data))
    measured.read()
    covered = {
        str(Path(path).relative_to(folder)): {
            line: seconds.keys() & set(names)
            for line, names in measured.contexts_by_lineno(path).items()
        }
        for path in measured.measured_files()
    }
    return Baseline(seconds, covered)
