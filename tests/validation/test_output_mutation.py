"""The checks kill every wrong output and accept every right one; the table is current."""

import re
from functools import cache

import pytest

from fluency.core.study import PILOT
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import Structure, load_tasks
from fluency.scoring.judgement import judge
from tools import output_mutants
from tools.output_mutants import PAGE, SEEDS, page_of, tally, variants

TASKS = {task.id: task for task in load_tasks() if task.content}
SAMPLE = load_tasks(PILOT)
"""For what takes long."""


@cache
def tallied(name):
    """Both tests of all tasks count the same."""
    return tally(TASKS[name])


@pytest.mark.parametrize("name", TASKS)
def test_tally_kills_wrong_and_accepts_right(name):
    found = tallied(name)
    assert found.survivors == [] and found.killed == found.wrong >= 36
    assert found.accepted == found.right >= 20


def test_tally_in_other_worlds():
    assert not any(tally(task, (7, 30)).survivors for task in SAMPLE)


@pytest.mark.parametrize(
    "name, weaker, survivor",
    [
        ("changelog-releases", {"content": "set"}, "swapped"),
        ("crates-using-reqwest", {"content": "paths", "structure": Structure(line=r"^\S.*$")}, "names as paths"),
        ("fetch-top-crates", {"content": "hex", "structure": Structure(line=r"^\S.*$")}, ""),
        ("session-tool-failures", {"content": "json"}, "permuted"),
        ("largest-rust-files", {"content": "set"}, "absolute paths"),
        ("broken-doc-links", {"content": "set"}, "absolute paths"),
    ],
)  # fmt: skip
def test_variants_notice_other_rule(name, weaker, survivor):
    """The mutants are made for the task as it is and judged by a rule that is not its own."""
    task = TASKS[name]
    other = task.model_copy(update=weaker)
    noticed = []
    for seed in SEEDS:
        expected = task.expected(world_for(task, seed), planned_processes(world_for(task, seed)))
        for each in variants(task, expected):
            if judge(other, each.result, expected).passed != each.must_pass:
                noticed.append(each.name)
    assert any(survivor in name for name in noticed)


def test_kill_table_is_current(monkeypatch):
    monkeypatch.setattr(output_mutants, "tally", lambda task, seeds: tallied(task.id))
    text = PAGE.read_text()
    assert page_of(list(TASKS.values())) == text, "run: python -m tools.output_mutants"
    last = rf"^\| all \| {len(TASKS)} \| (\d+) \| \1 \| 100.0 % \| (\d+) \| \2 \|$"
    assert re.search(last, text, re.M)
