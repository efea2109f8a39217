"""A copy of the project to run, edit and kill, with a real Messages endpoint behind its models."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import yaml

from fluency.common.paths import ROOT
from fluency.core.shells import AS_DESIGNED, SHELLS
from fluency.core.tasks import Task, load_tasks
from tests.programs import completed

PARTS = (
    *("Snakefile", "config.yaml", "pyproject.toml", "config", "profiles", "scripts", "tasks"),
    *("sandbox", "report", "envs", "shells"),
)
TASKS = ["session-tool-failures", "tree-size-bytes"]
FLUENCY = [sys.executable, "-m", "fluency.cli"]
CALLS = re.compile(r"^Study .*, (\d+) calls? to make\.$", re.M)
PLANNED = re.compile(r"^(\w+): \d+ to run\n((?: +\d+  .+\n?)+)", re.M)
REASON = re.compile(r"^ +(\d+)  (.+)$", re.M)
STATS = re.compile(r"^(\w+) +(\d+)$", re.M)


@cache
def bank() -> list[Task]:
    return load_tasks()


def reference_answer(prompt) -> str:
    """What a flawless model answers: the task's first reference in the prompt's shell."""
    shell = next(shell for shell, known in SHELLS.items() if known.prompt_line in prompt)
    return next(task.references[shell][0] for task in bank() if task.prompt.strip() in prompt)


def model(url, alias="good", **over) -> dict[str, object]:
    entry = {"alias": alias, "id": f"fake-{alias}", "base_url": url, "key_required": False}
    return entry | {"temperature": 0.7, "max_tokens": 256, "requests_per_minute": 100_000} | over


class Project:
    def __init__(self, root) -> None:
        self.root = root

    @classmethod
    def make(cls, root, **config) -> "Project":
        """A fresh copy, `config/test.yaml` with the keys; PowerShell's answers run once."""
        root.mkdir(parents=True)
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                # What is compiled here need not be compiled there; `.pyc.*` is being written now.
                left_out = shutil.ignore_patterns("*.pyc.*", "*.egg-info")
                shutil.copytree(source, root / part, ignore=left_out)
            else:
                shutil.copy2(source, root / part)
        project = cls(root)
        # Else each image record times each shell's start five times.
        project.edit("scripts/fluency/execution/sandbox.py", "REPEATS = 5", "REPEATS = 1")
        short = {"study": "test", "trials": 1, "tasks": TASKS, "conditions": [AS_DESIGNED.name]}
        project.configure(**short | config)
        return project

    def clone(self, root) -> "Project":
        """A copy of everything, results and Snakemake's memory included."""
        shutil.copytree(self.root, root, symlinks=True)
        return Project(root)

    def configure(self, **keys) -> None:
        file = self.root / "config/test.yaml"
        old = yaml.safe_load(file.read_text()) if file.exists() else {}
        file.write_text(yaml.safe_dump(old | keys))

    def edit(self, name, old, new) -> None:
        file = self.root / name
        text = file.read_text()
        assert old in text, f"{old!r} is not in {name}"
        file.write_text(text.replace(old, new, 1))

    def command(self, *arguments) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--configfile", "config/test.yaml", *arguments]

    def run_command(self, *arguments) -> list[str]:
        """The command line of `fluency run` for the test's study."""
        return [*FLUENCY, "run", "--configfile", "config/test.yaml", *arguments]

    def environ(self, **extra) -> dict[str, str]:
        clean = {name: os.environ[name] for name in os.environ if not name.startswith("ANTHROPIC")}
        return clean | {"PYTHONPATH": str(self.root / "scripts")} | extra

    def snakemake(self, *arguments, code=0, **env) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end; its exit code must be `code` unless that is None."""
        return self.run(self.command(*arguments), code, env)

    def fluency(self, command: str, *arguments: str, code: int | None = 0, stdin=None, **env: str):
        """Run one of our own commands on config/test.yaml in the same way."""
        of_archive = command in ("verify", "replay", "decision")
        named = [] if of_archive else ["--configfile", "config/test.yaml"]
        return self.run([*FLUENCY, command, *arguments, *named], code, env, stdin)

    def run(
        self, command: list[str], code: int | None, env: dict[str, str], stdin: str | None = None
    ):
        how = {"cwd": self.root, "env": self.environ(**env), "timeout": 600, "input": stdin}
        return completed(*command, code=code, **how)

    def to_do(self) -> dict[str, int]:
        """The jobs a run would do now, counted by rule, without the target rule."""
        text = self.snakemake("-n").stdout
        if "Nothing to be done" in text:
            return {}
        table = text[text.index("Job stats:") :].split("\n\n")[0]
        counts = Counter({rule: int(count) for rule, count in STATS.findall(table)})
        return {rule: count for rule, count in counts.items() if rule not in ("all", "total")}

    def plan(self) -> dict[str, dict[str, int]]:
        """What `make plan` says: rule -> reason -> jobs, and `calls` -> their number."""
        done = self.fluency("plan")
        said: dict[str, dict[str, int]] = {"calls": {"to make": int(CALLS.search(done.stdout)[1])}}
        for rule, reasons in PLANNED.findall(done.stdout):
            said[rule] = {reason: int(count) for count, reason in REASON.findall(reasons)}
        return said

    def records(self, stage) -> list[Path]:
        return sorted((self.root / "results" / stage).rglob("*.json"))
