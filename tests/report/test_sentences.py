"""What the report says of programs that the sandbox lacks, by shell."""

import pytest

from fluency.analysis.study_analysis import Analysis, analyse
from fluency.core.table import to_frame
from fluency.report.first_page import could_change
from fluency.report.sentences import missing_programs
from tests.synthetic_tables import make_rows, make_study, make_tasks

STUDY, TASKS = make_study(), make_tasks()


def said(*counts: dict[str, int], **more) -> str:
    return missing_programs(analysis_of(*counts, **more).models[0])


def analysis_of(
    lacked: dict[str, int],
    invented: dict[str, int] | None = None,
    older: int = 0,
    measured=("bash", "pwsh"),
) -> Analysis:
    """Of a model that passes every third trial alone; so many failed cells of these classes by shell."""
    left = {"missing-program": dict(lacked), "invented-command": dict(invented or {})}
    left |= {"command-not-found": {"bash": older}}
    rows = make_rows(
        STUDY, TASKS, lambda cell: cell.trial == 3 if cell.shell in measured else "not_measured"
    )
    changed = []
    for row in rows:
        failure = None
        if row.passed is False:
            failure = next(
                (name for name, by in left.items() if by.get(row.shell, 0) > 0), "silent-wrong"
            )
            if failure in left:
                left[failure][row.shell] -= 1
        changed.append(row.model_copy(update={"failure_class": failure}))
    return analyse(to_frame(changed), STUDY, TASKS)


def test_missing_programs_by_class_and_shell() -> None:
    text = said({"bash": 2, "pwsh": 4}, {"pwsh": 7})
    assert "this sandbox lacks: Bash 2/100, PowerShell 4/100 (`missing-program`)" in text
    assert "does not exist: Bash 0/100, PowerShell 7/100 (`invented-command`)" in text
    assert "differ by 2.0 points in the first, less than 3." in text and "favour" not in text


@pytest.mark.parametrize(("bash", "pwsh"), [(29, 4), (0, 3), (3, 0)])
def test_missing_programs_bound_the_gap(bash: int, pwsh: int) -> None:
    text = said({"bash": bash, "pwsh": pwsh})
    assert f"**The sandbox may favour {'Bash' if bash < pwsh else 'PowerShell'}**" in text
    assert f"by {abs(bash - pwsh)}.0 points in the first, 3 or more" in text
    assert (
        f"{'+' if pwsh > bash else '−'}{abs(bash - pwsh)}.0 pp with all of them passed, against 0.0 pp"
        in text
    )
    assert "pp with those cells left out" in text


def test_missing_programs_of_one_shell() -> None:
    text = said({"bash": 9}, measured=("bash",))
    assert (
        "Bash 9/100 (`missing-program`)" in text
        and "PowerShell" not in text
        and "differ" not in text
    )


def test_could_change_names_missing_programs() -> None:
    said = "Counting a pass with answers that lack a program passed gives −29.0"
    assert any(said in sentence for sentence in could_change(analysis_of({"bash": 29}))["model-x"])
    assert not any(
        "program" in sentence for sentence in could_change(analysis_of({"bash": 4}))["model-x"]
    )
