"""The faults put into references: the right ones, each once; a sample executed; the published page is of these tasks."""

import re

import pytest

from fluency.core.tasks import load_tasks
from tools.command_mutants import (
    PAGE,
    Outcome,
    Reason,
    execute,
    mutants,
    page_of,
    plan_of,
    read_reasons,
    unexplained,
)

TASKS = load_tasks()
WITHOUT = {"failed-job-lines"}
"""Its references, `grep FAILED …` and `awk '/FAILED/' …`, have no part that a fault can change."""


def made(command: str) -> set[tuple[str, str]]:
    return {tuple(mutant) for mutant in mutants(command)}


@pytest.mark.parametrize(
    ("command", "operator", "mutant"),
    [
        ("find a -type f -size +10240c", "drop-flag", "find a  -size +10240c"),
        ("find a -type f -size +10240c", "flip-comparison", "find a -type f -size -10240c"),
        ("find a -type f -size +10240c", "change-number", "find a -type f -size +10239c"),
        ("sort -rn x | head -n 5", "drop-stage", "sort -rn x"),
        ("sort -rn x | head -n 5", "drop-stage", "head -n 5"),
        ("sort -rn x | head -n 5", "drop-flag", "sort -n x | head -n 5"),
        ("sort -rn x | head -n 5", "change-number", "sort -rn x | head -n 6"),
        ("a | b | c", "drop-stage", "a | c"),
        ("[ -f x ] && [ ! -f y ]", "drop-negation", "[ -f x ] && [  -f y ]"),
        ("[ -f x ] && [ ! -f y ]", "drop-stage", "[ -f x ]"),
        ("[ -f x ] && [ ! -f y ]", "flip-comparison", "[ -f x ] || [ ! -f y ]"),
        ("[ x -nt y ]", "flip-comparison", "[ x -ot y ]"),
        ("jq '.a | select(.b | not)'", "drop-negation", "jq '.a | select(.b)'"),
        ("jq 'sort_by(-.n)'", "flip-comparison", "jq 'sort_by(.n)'"),
        ("awk '$2 == \"E\"'", "flip-comparison", "awk '$2 != \"E\"'"),
        ("awk '/^name/'", "drop-anchor", "awk '/name/'"),
        ("ps --sort=-rss", "flip-comparison", "ps --sort=rss"),
        ("grep -c '[0-9]{02}'", "change-number", "grep -c '[0-9]{03}'"),
        ("x=$(grep -w a b | wc -l)", "drop-flag", "x=$(grep  a b | wc -l)"),
    ],
)
def test_a_fault_of_each_kind_is_made(command: str, operator: str, mutant: str) -> None:
    assert (operator, mutant) in made(command)


def test_an_address_is_left_alone_and_no_mutant_is_the_command_itself() -> None:
    command = "curl -s http://127.0.0.1:8765/v1/models"
    assert made(command) == {
        ("drop-flag", "curl  http://127.0.0.1:8765/v1/models"),
        ("drop-flag", "curl"),
        ("change-number", "curl -s http://127.0.0.1:8765/v0/models"),
        ("change-number", "curl -s http://127.0.0.1:8765/v2/models"),
    }


def test_mutants_are_the_same_each_time_and_no_reference_is_among_them() -> None:
    planned = plan_of(TASKS)
    assert planned == plan_of(load_tasks())
    assert len({(mutant.task, mutant.command) for mutant in planned}) == len(planned) > 1500
    references = {(task.id, command) for task in TASKS for command in task.references["bash"]}
    assert not references & {(mutant.task, mutant.command) for mutant in planned}
    assert {(mutant.task, mutant.shell) for mutant in planned} == {
        (task.id, "bash") for task in TASKS if task.id not in WITHOUT
    }


def test_every_reason_is_of_a_mutant_that_is_made() -> None:
    planned = {(mutant.task, mutant.command) for mutant in plan_of(load_tasks())}
    assert set(read_reasons()) <= planned


def test_the_page_is_of_these_mutants_and_leaves_none_unexplained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    planned = plan_of(TASKS)
    total = re.search(
        r"^\| \*\*all\*\* \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page, re.M
    )
    count, killed, equivalent, left_out, rest = map(int, total.groups())
    assert count == len(planned), "run `make mutants` again"
    assert rest == 0 and killed + equivalent + left_out == count
    for task in TASKS:
        own = sum(mutant.task == task.id for mutant in planned)
        assert (f"\n| {task.id} | {own} |" in page) == (task.id not in WITHOUT)


def test_a_survivor_without_a_reason_is_unexplained_and_lowers_the_share() -> None:
    outcomes = [
        Outcome("t", "bash", "drop-flag", text, text == "a", "no" * (text == "a"))
        for text in "abcd"
    ]
    reasons = {
        ("t", "c"): Reason("equivalent", "Same."),
        ("t", "d"): Reason("left-out", "Not asked."),
    }
    assert [mutant.command for mutant in unexplained(outcomes, reasons)] == ["b"]
    page = page_of(outcomes, reasons, (11, 24))
    assert "| t | 4 | 1 | 1 | 1 | 1 | 33% |" in page and "**Unexplained.**" in page
    assert "*Left out.* Not asked." in page


@pytest.mark.engine
def test_a_sample_of_mutants_meets_the_fate_that_is_published(sandbox) -> None:
    planned = plan_of(TASKS)[::149]
    survivors = {command for _, command in read_reasons()}
    for mutant in execute(planned, TASKS, (11, 24), sandbox):
        if mutant.killed:
            assert mutant.why
            assert f"\n{mutant.command}\n" not in PAGE.read_text(encoding="utf-8"), mutant.command
        else:
            assert mutant.command in survivors, mutant.command
