"""`make compare`: the change between two studies, and what was run differently."""

import re
import shutil
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from markdown_it import MarkdownIt

from fluency.archive.verify import compare_studies
from fluency.common.errors import UserError
from fluency.common.paths import RESULTS
from fluency.common.paths import TASKS as TASKS_FOLDER
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Study
from fluency.core.table import write_table
from fluency.core.tasks import load_task, load_tasks
from fluency.report import markdown
from fluency.report.compare import compare, open_study_table, paired_models
from tests import synthetic_tables
from tests.archive.factory import Executor, gather, make_study, measure

TASKS = [f"task-{n:02d}" for n in range(12)]


def study(results, name, passes, models=("one",), tasks=TASKS, trials=5, shells=DESIGN_SHELLS):
    """Writes a study's table; `passes(model, shell, task number, trial)` is a pass, a fail, or None: missing."""
    cells = synthetic_tables.make_study(models, trials, shells)
    bank = [SimpleNamespace(id=task, category="text-processing") for task in tasks]

    def mark(cell):
        return passes(cell.model, cell.shell, tasks.index(cell.task), cell.trial)

    write_table(results / name / "cells.csv", synthetic_tables.make_rows(cells, bank, mark))


def compared(a, b, results=RESULTS):
    with patch("fluency.report.compare.RESULTS", results):
        return compare(open_study_table(a), open_study_table(b))


def dice(seed):
    rng = np.random.default_rng(seed)
    passed = {shell: rng.random((len(TASKS), 6)) < 0.6 for shell in DESIGN_SHELLS}
    return lambda model, shell, task, trial: bool(passed[shell][task, trial - 1])


def test_compare_names_a_changed_task(tmp_path):
    study(tmp_path, "old", lambda m, s, t, n: t != 4)
    study(tmp_path, "new", lambda m, s, t, n: t != 4 or (s == "pwsh" and n <= 3))
    found = compared("old", "new", tmp_path)
    pwsh = next(change for change in found.models["one"][0] if change.what == "pwsh")
    assert pwsh.change == Fraction(3, 5) / 12 and pwsh.differing == 1
    line = next(line for line in found.markdown().splitlines() if line.startswith("| task-04"))
    shown = [cell.strip() for cell in line.strip("|").split("|")]
    assert shown == ["task-04", "PowerShell 7", "0/5", "3/5", "+60.0"]
    assert "task-05" not in found.markdown()


def test_compare_lists_what_one_study_lacks(tmp_path):
    study(tmp_path, "old", lambda m, s, t, n: t < 6, models=("one", "two"), tasks=TASKS[:8])
    study(tmp_path, "new", lambda m, s, t, n: t < 6, models=("one",), tasks=TASKS[2:])
    found = compared("old", "new", tmp_path)
    assert {change.tasks for change in found.models["one"][0]} == {6}
    text = found.markdown()
    assert "Only in A, old, so not compared: two, task-00, task-01." in text
    assert "Only in B, new, so not compared: task-08, task-09, task-10, task-11." in text


def test_paired_models_by_alias_then_the_lone_rest():
    same = {"a": ("a", "a")}
    assert paired_models(["a", "b"], ["b", "a"]) == same | {"b": ("b", "b")}
    versions = {"old (A) and new (B)": ("old", "new")}
    assert paired_models(["a", "old"], ["a", "new"]) == same | versions
    assert paired_models(["a", "x", "y"], ["a", "z"]) == same
    assert paired_models(["x", "y"], ["z"]) == {}


def test_compare_of_different_numbers_of_trials(tmp_path):
    study(tmp_path, "demo", lambda m, s, t, n: t < 6, trials=1)
    study(tmp_path, "full", lambda m, s, t, n: t < 6 or n == 1, trials=5)
    found = compared("demo", "full", tmp_path)
    assert ["trials", "1", "5"] in found.differences
    assert found.models["one"][0][0].change == Fraction(6, 12) / 5


SMALL = make_study(("stale-lockfiles", "tree-size-bytes"), trials=1)


def real(folder, study=None, tasks=None, **more):
    """A study as the stages measure and gather it; returns its table's path."""
    made = measure(folder, study or SMALL, **more)
    gather(replace(made, tasks=tasks(made, folder) if tasks else made.tasks))
    return str(made.results / made.study.study / "cells.csv")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return real(tmp_path_factory.mktemp("base"))


def executor(**other) -> Executor:
    """The stand-in of the sandbox, with other facts."""
    made = Executor(load_tasks(SMALL.tasks))
    made.change_images(**other.get("image", {}))
    made.engine = made.engine | other.get("engine", {})
    return made


def asked_by(limits=None, **model):
    known = {"alias": "qwen-0.5b", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}
    more = {"models": [known | model], "sandbox": {"limits": limits or {}}}
    return Study.model_validate(SMALL.model_dump() | more)


def edited(made, folder):
    """The bank with one task edited."""
    shutil.copytree(TASKS_FOLDER / "stale-lockfiles", folder / "stale-lockfiles")
    with (folder / "stale-lockfiles/answer.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    return [load_task(folder / "stale-lockfiles"), made.tasks[1]]


OF_MODEL = "sampling.qwen-0.5b."
DIFFERENCES = {
    "sandbox": ({"sandbox": {"image": {"image_id": "sha256:22", "base": "debian:13",
        "shells": {"bash": "5.3", "pwsh": None}}, "engine": {"version": "1", "rootless": True}}},
        {**{f"images.{n}.base": ("debian", "debian:13") for n in (0, 1)},
        "images.0.shells.pwsh": ("7.6.5", "none"),
        **{f"images.{n}.shells.bash": ("5.2.15", "5.3") for n in (0, 1)}, "engines.version": ("0", "1"),
        "engines.rootless": ("not recorded", "yes"),
        "conditions": ("as_designed, no_unix_tools", "as_designed")}),
    "sampling and limits": ({"study": asked_by({"memory_mb": 2048, "timeout_s": {"pwsh": 60}},
        temperature=1.0, max_tokens=99, extra_body={"top_p": 0.5})},
        {"limits.memory_mb": ("1024", "2048"), "limits.timeout_s.pwsh": ("30.0", "60.0"),
        f"{OF_MODEL}temperature_requested": ("0.7", "1.0"),
        f"{OF_MODEL}temperature_sent": ("0.7", "1"), f"{OF_MODEL}max_tokens": ("512", "99"),
        f"{OF_MODEL}extra_body.top_p": ("not recorded", "0.5")}),
    "model of another name": ({"study": asked_by(alias="newer", id="qwen2.5-coder-1.5b-instruct")},
        {f"sampling.qwen-0.5b (A) and newer (B).{what}": ("qwen2.5-coder-0.5b-instruct",
        "qwen2.5-coder-1.5b-instruct") for what in ("id", "echoed")}),
    "tasks": ({"tasks": edited}, {}),
    "nothing": ({}, {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_run_differences_name_each_fact(kind, base, tmp_path):
    change, expected = DIFFERENCES[kind]
    if "sandbox" in change:
        change = change | {"sandbox": executor(**change["sandbox"])}
    found = compared(base, real(tmp_path, **change))
    differences = {
        what: (a, b) for what, a, b in found.differences if not what.startswith("config_files")
    }
    assert differences == expected  # the hash of a configuration differs with all that it says
    assert found.changed_tasks == (["stale-lockfiles"] if kind == "tasks" else [])
    text = found.markdown()
    assert ("edited between the studies" in text) == (kind == "tasks")
    assert ("Nothing that was recorded differs." in text) == (not found.differences)
    assert "The rate of no task changed." in text


def test_compare_shows_a_third_shell(tmp_path, zsh):
    study(tmp_path, "old", lambda m, s, t, n: s == "zsh", shells=(*DESIGN_SHELLS, "zsh"))
    study(tmp_path, "new", lambda m, s, t, n: s != "zsh", shells=(*DESIGN_SHELLS, "zsh"))
    found = compared("old", "new", tmp_path)
    changes = {change.what: change.change for change in found.models["one"][0]}
    assert changes == {"bash": 1, "pwsh": 1, "zsh": -1, "gap of pwsh": 0, "gap of zsh": -2}
    text = found.markdown()
    assert "Zsh pass@1" in text and "gap of Zsh" in text
    assert re.search(r"\| task-03 \| Zsh 5 +\| +5/5 \|", text)


@pytest.mark.parametrize("shell", ["mine", "<img src=x> `c` \x1b[2J"])
def test_compare_shows_a_shell_that_has_no_entry_here(tmp_path, shell):
    for name in ("old", "new"):
        study(tmp_path, name, lambda m, s, t, n, name=name: s == "bash" or name == "new")
        table = tmp_path / name / "cells.csv"
        lines = table.read_text().splitlines(keepends=True)
        foreign = [line.replace(",pwsh,", f",{shell},") for line in lines if ",pwsh," in line]
        table.write_text("".join([*lines, *foreign]))
    text = compared("old", "new", tmp_path).markdown()
    shown = markdown.text(shell)
    assert all(f"| {what} " in text for what in (f"{shown} pass@1", f"gap of {shown}"))
    assert "gap of PowerShell" in text and f"| {shown} " in text
    assert "\x1b" not in text
    assert "<img" not in MarkdownIt("commonmark").enable("table").render(text)


def test_compare_without_provenance_escapes_hostile_names(tmp_path):
    hostile = "<img src=x onerror=alert(1)> | [a](javascript:b) `c` \x1b[2J\u202e"
    study(tmp_path, "old", dice(1))
    study(tmp_path, "new", dice(1), tasks=[hostile, *TASKS[1:]])
    text = compared("old", "new", tmp_path).markdown()
    assert "no provenance.json" in text and "onerror" in text
    assert "\x1b" not in text and "\u202e" not in text
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<img" not in html and "<a " not in html


def test_compare_opens_name_folder_or_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fluency.archive.verify.COMPARISON", tmp_path / "page.html")
    study(tmp_path, "old", dice(1))
    study(tmp_path, "new", dice(2))
    assert compare_studies(str(tmp_path / "old"), str(tmp_path / "new/cells.csv")) == 0
    page = capsys.readouterr().out
    assert page.startswith("# old (A) and new (B)\n") and "PowerShell pass@1" in page
    shown = (tmp_path / "page.html").read_text()
    assert '<h1 id="old-a-and-new-b">old (A) and new (B)</h1>' in shown
    assert shown.count("<table>") == len(re.findall(r"^\| -", page, re.M)) > 0


def test_compare_errors_are_sentences(tmp_path):
    study(tmp_path, "old", dice(1))
    study(tmp_path, "other", dice(1), models=("x", "y"))
    study(tmp_path, "elsewhere", dice(1), tasks=["else"] + [f"else-{n}" for n in range(11)])
    with pytest.raises(UserError, match="no such study") as error:
        compared("old", "nwe", tmp_path)
    assert "other" in error.value.hint
    for name, said in (("other", "share no model"), ("elsewhere", "share no task")):
        with pytest.raises(UserError, match=said):
            compared("old", name, tmp_path)
    (tmp_path / "old/provenance.json").write_text("{")
    with pytest.raises(UserError, match="not a provenance record"):
        compared("old", "old", tmp_path)
