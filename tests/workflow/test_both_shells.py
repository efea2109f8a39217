"""The pilot set through the whole pipeline with both shells measured.

Where the image holds no PowerShell a stand-in takes its place: a `pwsh` that hands its command to Bash, given the way
a user gives the real archive. It shows that both shells, the second condition, the gap and the verdict come together;
it says nothing about PowerShell, and what the model answers is Bash in both shells.
"""

import re

import pytest

from fluency.core.grammar import condition_applies
from fluency.core.records import Execution
from fluency.core.schema import read_record
from fluency.core.shells import CONDITIONS, SHELLS, WINDOWS_ALIASES
from fluency.core.study import PILOT
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks
from fluency.execution.powershell import VARIABLE
from tests.execution.test_powershell import archive
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model, reference_answer

pytestmark = pytest.mark.engine
STAND_IN = """#!/bin/bash
export ALIASES=0
[ "$1" = -NoProfile ] || ALIASES="$(grep -c '^Set-Alias ' ~/.config/powershell/profile.ps1 2>/dev/null)"
case "${!#}" in
    *PSVersionTable.PSVersion*) echo 7.6.99 ;;
    *) exec /bin/bash --noprofile --norc -c "${!#}" ;;
esac
"""
TRAP = "tree-size-bytes"


def bash_in_both(prompt: str) -> str:
    """A Bash reference whatever shell was asked for; in the PowerShell shell one that is right with the aliases alone."""
    reference = reference_answer(
        prompt.replace(SHELLS["pwsh"].prompt_line, SHELLS["bash"].prompt_line)
    )
    if SHELLS["pwsh"].prompt_line in prompt and "vox-corpus" in prompt:
        return f"ls > /dev/null; [ $ALIASES = {len(WINDOWS_ALIASES)} ] || exec echo 1; {reference}"
    return reference


@pytest.fixture(scope="module")
def measured(sandbox, tmp_path_factory) -> Project:
    folder = tmp_path_factory.mktemp("both")
    given = archive(folder / "stand-in.tar.gz", STAND_IN)
    with Endpoint(bash_in_both) as endpoint, pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)  # the user's real one, where there is one
        project = Project.make(folder / "project", models=[model(endpoint.url)])
        project.configure(tasks=PILOT)
        project.snakemake(**{VARIABLE: str(given)})
        yield project


def test_both_shells_are_measured_and_the_second_condition_stands_beside(measured):
    frame = read_table(measured.root / "results/test/cells.csv")
    assert set(frame["status"]) == {"measured"} and len(frame) == 2 * len(load_tasks(PILOT))
    failed = frame[~frame["passed"]]
    assert failed[["shell", "task", "failure_class"]].values.tolist() == [
        ["pwsh", TRAP, "silent-wrong"]
    ]
    pwsh = frame[frame["shell"] == "pwsh"]
    assert pwsh["no_unix_tools_passed"].notna().all(), "the second condition ran for every answer"
    assert not pwsh["no_unix_tools_passed"].any(), "Bash references need Unix tools"
    assert (
        frame[frame["shell"] == "bash"][["no_unix_tools_passed", "windows_aliases_passed"]]
        .isna()
        .all(axis=None)
    )


def test_answers_that_call_an_alias_of_windows_run_again_with_them(measured):
    frame = read_table(measured.root / "results/test/cells.csv")
    pwsh = frame[frame["shell"] == "pwsh"].set_index("task")
    assert pwsh["windows_aliases_passed"].all(), (
        "one answer is right with them alone, and the rest as designed"
    )
    assert not pwsh["passed"][TRAP]
    again = {
        path.parent.name
        for path in (measured.root / "results/executions").rglob("pwsh/*/*.json")
        if any(run.condition == "windows_aliases" for run in read_record(Execution, path).runs)
    }
    windows, shell = CONDITIONS["windows_aliases"], SHELLS["pwsh"]
    assert again == {
        task for task, row in pwsh.iterrows() if condition_applies(windows, shell, row["command"])
    }
    assert TRAP in again and len(again) < len(pwsh)
    report = (measured.root / "results/test/report.md").read_text()
    gap = r"With the aliases of Windows for PowerShell \(Bash as designed\), the gap is \*\*0\.0 pp\*\*"
    assert re.search(gap, report), "beside −5.0 as designed"
    assert (
        "with Windows aliases, strict reading"
        in (measured.root / "results/test/explorer.html").read_text()
    )


def test_the_report_gives_the_gap_its_verdict_and_its_doubt(measured):
    report = (measured.root / "results/test/report.md").read_text()
    assert "100.0 % (20/20)" in report and "95.0 % (19/20)" in report and "−5.0" in report
    assert "The decision table does not apply: these tasks are too easy to tell." in report
    assert "who is ahead is open" in report
    assert (measured.root / "results/test/figures/gaps.svg").exists()


def test_the_archive_of_the_study_verifies_and_replays(measured):
    assert measured.to_do() == {}, (
        "a run that does not name PowerShell's archive again keeps what was measured"
    )
    # Registered with two trials, run with one: a deviation that report and decision record must both state.
    measured.configure(trials=2)
    measured.fluency("preregister", "--decision", "which prompts to write")
    registration = next((measured.root / "preregistrations").glob("*.json")).relative_to(
        measured.root
    )
    measured.configure(trials=1, preregistration=str(registration))

    archived = measured.fluency("archive").stdout.splitlines()[-1]
    assert measured.fluency("verify", archived).stdout.splitlines()[-1] == "PROVEN"
    replayed = measured.fluency("replay", archived, code=None)
    assert "0 of 40 cells pass or fail otherwise" in replayed.stdout, (
        replayed.stdout + replayed.stderr
    )
    measured.fluency("decision", archived, "--title", "Keep the prompts")
    record = next((measured.root / "docs" / "decisions").glob("*.md")).read_text()
    assert "no rule for 5 to 10" in record
    report = (measured.root / "results/test/report.md").read_text()
    for text in (record, report):
        deviation = next(
            line for line in text.splitlines() if "trials" in line and "2" in line and "1" in line
        )
        assert deviation, "the deviation from the registered trials is stated"
        assert str(registration) in text
