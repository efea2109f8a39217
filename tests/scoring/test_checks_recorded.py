"""The checks reach the same verdict as the prototype on every recorded execution."""

import pytest

from fluency.scoring import checks
from fluency.scoring.verdict import judge
from tests.scoring.recordings import recorded, recorded_more


def verdicts_differ(lines):
    wrong = []
    for line in lines:
        verdict = judge(line.task, line.result, line.expected)
        text = checks.clean(line.result.stdout.raw())
        literal = checks.design_structure_problem(line.task.structure, text, checks.output_lines(text)) is None
        if verdict.passed != line.passed or literal != line.structural:
            wrong.append((line.name, line.command, verdict, literal))
        if verdict.structural != (literal and verdict.exit_ok):
            wrong.append((line.name, "structural is not exit and literal structure", verdict))
    return wrong


def test_every_verdict_of_the_twenty_tasks_is_as_recorded():
    assert len(recorded()) == 328 and verdicts_differ(recorded()) == []


def test_every_verdict_of_the_forty_further_tasks_is_as_recorded():
    assert len(recorded_more()) > 1_000
    assert {line.task.content for line in recorded_more()} == {"set", "ordered", "paths", "keyed"}
    assert verdicts_differ(recorded_more()) == []


def test_the_check_of_a_task_is_needed_beside_its_structure():
    """27 wrong bash commands of 40 have the right structure, as the design measured; none has the right content."""
    wrong = [line for line in recorded() if line.shell == "bash" and line.kind == "wrong" and line.world == 1]
    judged = [judge(line.task, line.result, line.expected) for line in wrong]
    assert len(judged) == 40 and sum(verdict.structural for verdict in judged) == 27
    assert not any(verdict.passed for verdict in judged)


@pytest.mark.parametrize(
    ("task", "shell", "why"),
    [
        ("tree-size-bytes", "bash", "Line 1 is '31813' instead of '15429'."),
        ("stale-lockfiles", "pwsh", "Line 'missing-desc' is too much."),
        ("session-tool-failures", "pwsh", "The output is not a JSON array."),
        ("fetch-redirect-sha256", "pwsh", "Exit code 1, and nothing was printed."),
    ],
)
def test_why_names_the_first_difference(task, shell, why):
    said = [
        judge(line.task, line.result, line.expected).why
        for line in recorded()
        if (line.task.id, line.shell, line.kind, line.world) == (task, shell, "wrong", 1)
    ]
    assert why in said


def test_table_noise_is_told_from_a_line_too_many():
    noisy = {
        (line.task.id, line.shell) for line in recorded() if judge(line.task, line.result, line.expected).table_noise
    }
    pwsh = ("fetch-top-crates", "largest-rust-files", "lockfile-duplicates", "scheduler-children", "top-memory-process")
    assert noisy == {("top-memory-process", "bash"), *((task, "pwsh") for task in pwsh)}
