"""The table in docs/doing-a-study.md: which rules' params change with each kind of change."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from fluency.common.paths import TASKS
from fluency.core.shells import SHELLS
from fluency.core.study import Cell, Study
from fluency.core.tasks import load_tasks
from fluency.execution import archives, isolation
from fluency.registration import preregister
from fluency.workflow import rerun_keys
from fluency.workflow.rerun_keys import WILDCARDS, RerunKeys
from tests.archive.factory import preregister_at
from tests.workflow.project import TASKS as NAMES
from tests.workflow.project import model

OWN, OTHER = NAMES[1], NAMES[0]
HEAD = {"gather", "report"}
URL = "http://127.0.0.1:9"
CONFIG = {"study": "test", "trials": 1, "tasks": NAMES}


@dataclass
class Loaded:
    """A study of two tasks in its own folder, as `RerunKeys` takes one."""

    folder: Path
    config: dict[str, Any] = field(default_factory=lambda: CONFIG | {"models": [model(URL)]})
    comment: str = ""

    def __post_init__(self):
        for name in NAMES:
            shutil.copytree(TASKS / name, self.folder / "tasks" / name)

    def edit(self, name, old, new):
        file = self.folder / "tasks" / OWN / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    def keys(self):
        """Rule, or rule and task -> the params of its jobs."""
        file = self.folder / "test.yaml"
        file.write_text(self.comment + yaml.safe_dump(self.config, sort_keys=False))
        self.files = [file]
        self.study = Study.model_validate(self.config)
        with mock.patch("fluency.core.tasks.TASKS", self.folder / "tasks"):
            self.tasks = load_tasks(self.study.tasks)
        self.task_of = {task.id: task for task in self.tasks}
        made, found = RerunKeys(self), {}
        for rule in ("image", "gather", "report", "generate", "execute", "score"):
            params = made.params(rule)
            for task in self.study.tasks if "task" in WILDCARDS.get(rule, ()) else [""]:
                cell = Cell(self.study.models[0].alias, "bash", task, 1)
                found[f"{rule} {task}".strip()] = {param(cell) for param in params.values()}
        return found


def of_both(*rules):
    return {f"{rule} {task}" for rule in rules for task in NAMES}


def config(**keys) -> Callable[[Loaded, Any], None]:
    return lambda loaded, monkeypatch: loaded.config.update(keys)


def task(name, old, new) -> Callable[[Loaded, Any], None]:
    return lambda loaded, monkeypatch: loaded.edit(name, old, new)


def comment(loaded: Loaded, monkeypatch):
    loaded.comment = "# The same keys.\n"
    loaded.config = dict(reversed(loaded.config.items()))


def registered(loaded: Loaded, monkeypatch):
    path = preregister(loaded.study, loaded.tasks, "which", loaded.folder)
    loaded.config["preregistration"] = str(path)


def content(loaded: Loaded, monkeypatch):
    monkeypatch.setattr(rerun_keys, "content_sha256", lambda *_: "f" * 64)


def seccomp(loaded: Loaded, monkeypatch):
    monkeypatch.setattr(isolation, "profile", lambda: "{}")


def masked(loaded: Loaded, monkeypatch):
    monkeypatch.setattr(isolation, "MASKED", ["/proc/keys"])


def argv(loaded: Loaded, monkeypatch, name="bash"):
    program, *options = SHELLS[name].argv
    entry = SHELLS[name].model_copy(update={"argv": [program, "-x", *options]})
    monkeypatch.setitem(SHELLS, name, entry)


def other_argv(loaded: Loaded, monkeypatch):
    argv(loaded, monkeypatch, "pwsh")


def given_archive(loaded: Loaded, monkeypatch):
    monkeypatch.setattr(archives, "_keep", lambda *_: "f" * 64)
    monkeypatch.setenv("POWERSHELL_ARCHIVE", "another")


def third_shell(loaded: Loaded, monkeypatch):
    monkeypatch.setitem(SHELLS, "zsh", SHELLS["bash"].model_copy(update={"name": "zsh"}))


def says(loaded: Loaded, monkeypatch):
    entry = SHELLS["bash"].model_copy(update={"missing_command": "^(.+): unknown$"})
    monkeypatch.setitem(SHELLS, "bash", entry)


def code(*stages) -> Callable[[Loaded, Any], None]:
    real = rerun_keys.code_sha256
    return lambda loaded, monkeypatch: monkeypatch.setattr(
        rerun_keys, "code_sha256", lambda stage: "f" * 64 if stage in stages else real(stage)
    )


PROMPT = task("task.yaml", "Print a single integer, digits only.", "Print one integer.")
CHECK = task("task.yaml", "lines: exactly-one", "lines: at-least-one")
ANSWER = task("answer.py", "def expected", "# other\ndef expected")
ROWS = {
    "nothing": (lambda *_: None, set()),
    "a comment and the order of keys": (comment, {"gather"}),
    "a task's check": (CHECK, {f"score {OWN}", *HEAD}),
    "a task's rule": (task("task.yaml", "content: ", "content: paths # "), {f"score {OWN}", *HEAD}),
    "a task's answer": (ANSWER, {f"score {OWN}", *HEAD}),
    "a task's notes": (task("task.yaml", "fairness: >-\n", "fairness: >-\n  Now this.\n"), HEAD),
    "a budget": (config(budget={"stop_usd": 3}), HEAD),
    "a registration": (registered, HEAD),
    "a task's prompt": (PROMPT, {f"generate {OWN}", *HEAD}),
    "a model's sampling": (
        config(models=[model(URL, max_tokens=99)]),
        {*of_both("generate"), *HEAD},
    ),
    "a rate and an address": (config(models=[model(f"{URL}9", requests_per_minute=7)]), HEAD),
    "more trials": (config(trials=2), HEAD),
    "another model": (config(models=[model(URL), model(URL, "more")]), HEAD),
    "an alias": (config(models=[model(URL, "renamed", id="fake-good")]), HEAD),
    "the runner or the Dockerfile": (content, {"image", *of_both("execute")}),
    "the worlds": (config(seeds=[13, 26]), {*of_both("execute", "score"), *HEAD}),
    "a limit": (config(sandbox={"limits": {"memory_mb": 512}}), {*of_both("execute"), *HEAD}),
    "a deadline": (
        config(sandbox={"limits": {"timeout_s": {"bash": 60.0}}}),
        {*of_both("execute"), *HEAD},
    ),
    "a runtime": (config(sandbox={"runtime": "runsc"}), {*of_both("execute"), *HEAD}),
    "a task's needs": (
        task("task.yaml", "content:", "needs: [http]\ncontent:"),
        {f"execute {OWN}", *HEAD},
    ),
    "a condition less": (config(conditions=["as_designed"]), {*of_both("score"), *HEAD}),
    "the code of table and report": (code("gather", "report"), HEAD),
    "one shell less": (config(shells=["bash"]), HEAD),
    "one task less": (config(tasks=[OWN]), HEAD),
    "the code of the checks": (code("score"), of_both("score")),
    "the code that executes": (code("execute"), of_both("execute")),
    "the seccomp profile": (seccomp, of_both("execute")),
    "a measure of isolation": (masked, of_both("execute")),
    "how the shell is started": (argv, {"image", *of_both("execute"), *HEAD}),
    "how another shell is started": (other_argv, HEAD),
    "another archive of another shell": (given_archive, set()),
    "a third shell": (third_shell, set()),
    "what the shell says of an unknown command": (says, {*of_both("score"), *HEAD}),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_changes_the_keys_of_its_rules_and_no_others(tmp_path, monkeypatch, row):
    loaded = Loaded(tmp_path)
    before = loaded.keys()
    change, changed = ROWS[row]
    change(loaded, monkeypatch)
    now = loaded.keys()
    assert {rule for rule in now if now[rule] != before[rule]} == changed


def test_another_registration_of_the_same_tasks_changes_what_is_gathered(tmp_path):
    loaded = Loaded(tmp_path)
    loaded.keys()
    registered(loaded, None)
    before = loaded.keys()
    preregister_at("2026-11-01T00:00:00Z", loaded.study, loaded.tasks, "which shell", tmp_path)
    now = loaded.keys()
    assert {rule for rule in now if now[rule] != before[rule]} == {"gather"}
