"""`make mutate`: the faults are the named ones, and each trial says truly who noticed."""

import subprocess

import pytest

from tools.mutate import trial
from tools.mutate.__main__ import PRODUCT, drawn, try_all
from tools.mutate.baseline import Project
from tools.mutate.faults import faults_of
from tools.mutate.faults_page import page_of, read_reasons, reason_of, summary

LIMITS = '''"""Limits."""

import time

LEAST = 3  # of what


def enough(count: int = 2) -> bool:
    if count >= LEAST:
        return True
    while count == 7:
        time.sleep(0.01)
    return False


def untested(a, b):
    return (a and b,
            a * 2)
'''
TESTS = '''"""Of limits."""

from limits import enough


def test_enough():
    assert enough(3)


def test_not_enough():
    assert not enough(2)


def test_that_fails_anyway():
    assert enough(0)
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A tree of one module and its tests, none of which cover the last function."""
    root = tmp_path_factory.mktemp("project")
    for name, text in {"src/limits.py": LIMITS, "tests/test_limits.py": TESTS}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return Project(root, sources=("src",), package_root="src")


def changes(source):
    return {(fault.kind, fault.before, fault.after) for fault in faults_of("x.py", source)}


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("a < b", ("comparison", "a < b", "a <= b")),
        ("a < b", ("comparison", "a < b", "a >= b")),
        ("a == b", ("comparison", "a == b", "a != b")),
        ("a in b", ("comparison", "a in b", "a not in b")),
        ("a and b", ("logic", "a and b", "a or b")),
        ("not a", ("logic", "not a", "a")),
        ("x if a else y", ("logic", "a", "not a")),
        ("any(a)", ("logic", "any(a)", "all(a)")),
        ("f'{a + 1:.1f}'", ("number", "1", "2")),
        ("f(8)", ("number", "8", "7")),
        ("f(True)", ("number", "True", "False")),
        ("a / b", ("number", "a / b", "a * b")),
        ("a += b", ("number", "a += b", "a -= b")),
        ("min(a, b)", ("number", "min(a, b)", "max(a, b)")),
        ("f(a, b.c, d)", ("arguments", "f(a, b.c, d)", "f(b.c, a, d)")),
    ],
)
def test_a_fault_of_each_kind_is_made(source, change):
    assert change in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        "x: tuple[A, 3]", "def f(a: 3) -> 4: pass", "@cache(3)\ndef f(): pass", "assert a == 3",
        "if __name__ == '__main__':\n    f(3)", "'a' + b + 'c'", "isinstance(a, b)", "'3'", "f(a, a)",
    ],
)  # fmt: skip
def test_where_a_fault_would_say_nothing_there_is_none(source):
    assert changes(source) == set()


def test_faults_are_drawn_the_same_each_time(project):
    assert drawn(project, 5, seed=1) == drawn(project, 5, seed=1) != drawn(project, 5, seed=2)
    assert len(set(drawn(project, 1_000, seed=1))) == len(drawn(project, 1_000, seed=1)) < 20
    assert all(fault.file.startswith(PRODUCT.sources) for fault in drawn(PRODUCT, 50, seed=1))


def test_each_trial_says_who_noticed(project, tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "START_S", 10.0)
    wanted = [
        "count >= LEAST → count > LEAST",
        "LEAST = 4",
        "count == 7 → count != 7",
        "a and b → a or b",
        "3 → 4",
    ]
    faults = [f for f in faults_of("src/limits.py", LIMITS) if f"{f.before} → {f.after}" in wanted]
    before = {path: path.read_bytes() for path in project.root.rglob("*.py")}
    trials = try_all(project, faults, tmp_path, workers=2)
    assert {f"{each.fault.before} → {each.fault.after}": each.by for each in trials} == {
        "3 → 4": "tests/test_limits.py::test_enough",
        "count >= LEAST → count > LEAST": "tests/test_limits.py::test_enough",
        "count == 7 → count != 7": "time limit",
        "a and b → a or b": None,
    }
    assert {path: path.read_bytes() for path in project.root.rglob("*.py")} == before

    said = []
    assert try_all(project, faults, tmp_path, workers=2, say=said.append) == trials
    assert said == [], "what was tried is not tried again"

    (silent,) = [each.fault for each in trials if each.by is None]
    assert reason_of(silent, [{"file": "src/other.py", "reason": "no"}]) is None
    reasons = [
        {
            "file": "src/*.py",
            "function": "untested",
            "fault": "a and b → *",
            "reason": "Nobody asks.",
        }
    ]
    assert summary(trials, []) == "4 faults: 3 noticed, 0 explained, 1 survive; 75.0% accounted for"
    assert (
        summary(trials, reasons)
        == "4 faults: 3 noticed, 1 explained, 0 survive; 100.0% accounted for"
    )
    page = page_of(trials, reasons, seed=1)
    assert "| `src/limits.py` | 17 | `untested` | `a and b` → `a or b` | Nobody asks. |" in page
    assert (
        "| `src/limits.py` | 9 | `count >= LEAST` → `count > LEAST` | `tests/test_limits.py::test_enough` |"
        in page
    )
    assert "**survives**" in page_of(trials, [], seed=1)


def test_the_explanations_are_read():
    assert all(entry["reason"] for entry in read_reasons())
