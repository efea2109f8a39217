"""What is executed of an answer: the headline first, then what is reported beside it."""

import pytest

from fluency.core.records import Extraction
from fluency.core.study import Study, read_study
from fluency.execution.execute import planned_runs

BOTH = ["as_designed", "no_unix_tools"]
ALL = [*BOTH, "windows_aliases"]
SAME = Extraction(strict="ls", lenient="ls")


def study_with(conditions: list[str]) -> Study:
    return read_study().model_copy(update={"conditions": conditions})


@pytest.mark.parametrize(
    ("shell", "conditions", "runs"),
    [
        ("bash", BOTH, ["as_designed"]),
        ("pwsh", BOTH, BOTH),
        ("pwsh", BOTH[::-1], BOTH),
        ("pwsh", ["as_designed"], ["as_designed"]),
        ("pwsh", ALL, ALL),
        ("bash", ALL, ["as_designed"]),
    ],
)
def test_an_answer_runs_under_the_conditions_that_its_shell_and_the_study_have(shell, conditions, runs):
    assert list(planned_runs(study_with(conditions), shell, SAME)) == [("strict", "ls", run) for run in runs]


def test_another_reading_runs_as_designed_only():
    prose = Extraction(strict="try `ls`", lenient="ls")
    runs = [(reading, condition) for reading, _, condition in planned_runs(study_with(BOTH), "pwsh", prose)]
    assert runs == [("strict", "as_designed"), ("strict", "no_unix_tools"), ("lenient", "as_designed")]
    assert list(planned_runs(study_with(BOTH), "pwsh", Extraction(strict=None, lenient=None))) == []


def test_the_aliases_of_windows_are_tried_on_answers_that_call_one():
    without = Extraction(strict="Get-ChildItem | Sort-Object Name", lenient=None)
    assert [condition for _, _, condition in planned_runs(study_with(ALL), "pwsh", without)] == BOTH
