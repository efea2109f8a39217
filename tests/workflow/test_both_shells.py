"""A study of both shells on real PowerShell, from its answers to its archive."""

import re

import pytest

from fluency.core.grammar import condition_applies
from fluency.core.records import Execution
from fluency.core.schema import read_record
from fluency.core.shells import CONDITIONS, SHELLS
from fluency.core.study import PILOT
from fluency.core.table import read_table
from fluency.core.tasks import load_tasks
from tests.generation.endpoint import Endpoint
from tests.report.explorer_factory import details_of
from tests.workflow.project import Project, model, reference_answer

NAME = "pwsh"
pytestmark = [pytest.mark.engine, pytest.mark.pwsh]
TRAP = "tree-size-bytes"
TASKS = [TRAP, *(task.id for task in load_tasks(PILOT) if task.id != TRAP)][:4]
ALIAS = "(ls crates/vox-corpus -Recurse -File -Force | Measure-Object Length -Sum).Sum"


def answer(prompt):
    """The reference; once a command that is right only with Windows' aliases."""
    if SHELLS["pwsh"].prompt_line in prompt and "vox-corpus" in prompt:
        return ALIAS
    return reference_answer(prompt)


@pytest.fixture(scope="module")
def measured(sandbox, tmp_path_factory):
    if why := sandbox.why_missing(NAME):
        pytest.skip(why)
    with Endpoint(answer) as endpoint:
        project = Project.make(tmp_path_factory.mktemp("both") / "project")
        project.configure(tasks=TASKS, models=[model(endpoint.url)], conditions=list(CONDITIONS))
        project.snakemake()
        yield project


def test_study_measures_both_shells_in_their_conditions(measured):
    frame = read_table(measured.root / "results/test/cells.csv")
    assert set(frame["status"]) == {"measured"} and len(frame) == 2 * len(TASKS)
    failed = frame[~frame["passed"]]
    assert failed[["shell", "task"]].values.tolist() == [["pwsh", TRAP]]
    assert frame[frame["shell"] == "pwsh"]["no_unix_tools_passed"].notna().all()
    others = ["no_unix_tools_passed", "windows_aliases_passed"]
    assert frame[frame["shell"] == "bash"][others].isna().all(axis=None)


def test_answers_that_call_alias_run_again_with_aliases(measured):
    frame = read_table(measured.root / "results/test/cells.csv")
    pwsh = frame[frame["shell"] == "pwsh"].set_index("task")
    # One answer is right with them alone, and the others as designed.
    assert pwsh["windows_aliases_passed"].all()
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
    assert "100.0 % (4/4)" in report and "75.0 % (3/4)" in report and "−25.0" in report
    assert (measured.root / "results/test/figures/gaps.svg").exists()
    aliases = r"with Windows aliases: the aliases of Windows for PowerShell \(Bash as designed\)"
    assert re.search(rf"\| {aliases} +\|.*\| +0\.0 \|", report), "next to −25.0 as designed"
    page = measured.root / "results/test/explorer.html"
    assert "with Windows aliases, strict reading" in details_of(page)


def test_archive_of_both_shells_verifies_and_replays(measured):
    # Registered with two trials, run with one: report and decision record must state it.
    measured.configure(trials=2)
    measured.fluency("preregister", "--decision", "which prompts to write")
    (file,) = (measured.root / "preregistrations").glob("*.json")
    registration = str(file.relative_to(measured.root))
    measured.configure(trials=1, preregistration=registration)

    measured.snakemake()
    archived = measured.fluency("archive").stdout.splitlines()[-1]
    assert measured.fluency("verify", archived).stdout.splitlines().count("PROVEN") == 1
    replayed = measured.fluency("replay", archived, code=None)
    assert "0 of 8 cells pass or fail differently" in replayed.stdout, replayed
    measured.fluency("decision", archived, "--title", "Keep the prompts")
    record = next((measured.root / "docs/decisions").glob("*.md")).read_text()
    report = (measured.root / "results/test/report.md").read_text()
    for text in (record, report):
        assert re.search("trials.*2.*1|trials.*1.*2", text), "the deviation is stated"
        assert registration in text
