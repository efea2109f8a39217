"""The faults put into references, the published pages of these tasks, and a sample executed."""

import re
from collections import Counter

import pytest

from fluency.core.study import Limits
from fluency.core.tasks import load_tasks
from fluency.validation.probes import Prober
from tools import command_mutants as tool
from tools.command_mutants import Mutant, page_path, plan_of, read_kinds

TASKS = load_tasks()
WITHOUT = {
    "bash": {"failed-job-lines"},
    "pwsh": {"file-size-bytes", "health-body", "http-status", "remote-json-field", "sha-of-file"}
    | {"undo-file"},
}
"""The references of these tasks have no part that a fault can change."""


def made(command, shell="bash"):
    return {(operator, mutant) for mutant, operator in tool.mutants(command, shell).items()}


@pytest.mark.parametrize(
    "command, operator, mutant",
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
def test_mutants_bash_fault_of_each_kind(command, operator, mutant):
    assert (operator, mutant) in made(command)


@pytest.mark.parametrize(
    "command, operator, mutant",
    [
        ("gci a -File -Filter *.rs", "drop-flag", "gci a  -Filter *.rs"),
        ("gci a -File -Filter *.rs", "drop-flag", "gci a -File"),
        ("gci | sort Length -Top 5", "drop-stage", "gci"),
        ("gci | sort Length -Top 5", "change-number", "gci | sort Length -Top 6"),
        ("gci | select -First 1", "flip-comparison", "gci | select -last 1"),
        ("gci | ? Length -ge 10KB", "flip-comparison", "gci | ? Length -gt 10KB"),
        ("gci | ? { $_.a -eq 1 -and -not $b }", "flip-comparison", "gci | ? { $_.a -ne 1 -and -not $b }"),
        ("gci | ? { $_.a -eq 1 -and -not $b }", "flip-comparison", "gci | ? { $_.a -eq 1 -or -not $b }"),
        ("gci | ? { $_.a -eq 1 -and -not $b }", "drop-negation", "gci | ? { $_.a -eq 1 -and  $b }"),
        ("gc f | ? { $_ -cmatch '^a 2$' }", "ignore-case", "gc f | ? { $_ -match '^a 2$' }"),
        ("gc f | ? { $_ -cmatch '^a 2$' }", "flip-comparison", "gc f | ? { $_ -cnotmatch '^a 2$' }"),
        ("gc f | ? { $_ -cmatch '^a 2$' }", "drop-anchor", "gc f | ? { $_ -cmatch 'a 2$' }"),
        ("gc f | ? { $_ -cmatch '^a 2$' }", "change-number", "gc f | ? { $_ -cmatch '^a 3$' }"),
        ("'é'; $x[-1]", "change-number", "'é'; $x[-2]"),
    ],
)  # fmt: skip
def test_mutants_powershell_fault_of_each_kind(command, operator, mutant):
    assert (operator, mutant) in made(command, "pwsh")


def test_mutants_of_an_address():
    command = "curl -s http://127.0.0.1:8765/v1/models"
    assert made(command) == {
        ("drop-flag", "curl  http://127.0.0.1:8765/v1/models"),
        ("drop-flag", "curl"),
        ("change-number", "curl -s http://127.0.0.1:8765/v0/models"),
        ("change-number", "curl -s http://127.0.0.1:8765/v2/models"),
    }


@pytest.mark.parametrize("shell", WITHOUT)
def test_plan_of_holds_each_mutant_once_and_no_reference(shell):
    planned = plan_of(TASKS, [shell])
    assert planned == plan_of(load_tasks(), [shell])
    mutated = {(mutant.task, mutant.command) for mutant in planned}
    assert len(mutated) == len(planned) > 1500
    assert not mutated & {(task.id, text) for task in TASKS for text in task.references[shell]}
    assert {task.id for task in TASKS} - {task for task, _ in mutated} == WITHOUT[shell]


def test_read_kinds_only_of_mutants_that_are_made():
    assert set(read_kinds()) <= {(mutant.task, mutant.command) for mutant in plan_of(TASKS)}


@pytest.mark.parametrize("shell", WITHOUT)
def test_page_holds_these_mutants_and_explains_every_survivor(shell):
    page = page_path(shell).read_text()
    planned = Counter(mutant.task for mutant in plan_of(TASKS, [shell]))
    pattern = r"^\| (\S+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|"
    rows = {name: list(map(int, row)) for name, *row in re.findall(pattern, page, re.M)}
    of_tasks = {name: row for name, row in rows.items() if name in planned}
    assert planned == {name: row[0] for name, row in of_tasks.items()}, "run `make mutants` again"
    for name, (count, killed, equivalent, left_out, rest) in of_tasks.items():
        assert rest == 0 and killed + equivalent + left_out == count, name


def test_page_of_survivor_without_a_reason():
    planned = [Mutant("t", "bash", "drop-flag", text) for text in "abcd"]
    kinds = {("t", "c"): "equivalent", ("t", "d"): "left-out"}
    page = tool.page_of(planned, planned[1:], kinds, (11, 24))
    assert "| t | 4 | 1 | 1 | 1 | 1 | 33% |" in page


@pytest.mark.engine
@pytest.mark.parametrize("shell", WITHOUT)
def test_survivors_of_sample_are_the_explained_mutants(shell, sandbox):
    if reason := sandbox.why_missing(shell):
        pytest.skip(reason)
    kinds, sample = read_kinds(), plan_of(TASKS, [shell])[::307]
    limits = Limits(timeout_s={shell: 10})  # a mutant that waits for ever is killed either way
    survivors = tool.survivors_of(sample, Prober(sandbox, TASKS, limits), (11, 24))
    assert survivors == [mutant for mutant in sample if (mutant.task, mutant.command) in kinds]
