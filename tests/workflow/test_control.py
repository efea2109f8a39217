"""The control of a study: what must pass passes, and what must fail fails."""

import re

import pytest

from fluency.core.records import read_control
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.sentences import unexpected_controls
from tests.workflow.project import TASKS

pytestmark = pytest.mark.engine
SHELL = "bash"


@pytest.fixture(scope="module")
def controlled(finished, tmp_path_factory):
    project = finished.clone(tmp_path_factory.mktemp("controlled") / "project")
    project.configure(control=True)
    project.snakemake()
    return project


def test_references_pass_and_wrong_commands_do_not(controlled, sandbox):
    control = read_control(controlled.root / "results/test")
    for kind in ("reference", "wrong"):
        assert [run.task for run in control.of(SHELL, kind)] == TASKS
    assert all(run.as_it_must for run in control.runs) and unexpected_controls(control) == []
    assert set(control.not_measured) == {*filter(sandbox.why_missing, DESIGN_SHELLS)}


def test_the_report_has_it_under_its_own_heading_and_in_no_rate(controlled):
    report = (controlled.root / "results/test/report.md").read_text()
    assert "## Control: commands that no model wrote" in report
    assert re.search(r"\| Bash +\| +2 of 2 \| +0 of 2 \|", report)
    table = (controlled.root / "results/test/cells.csv").read_text()
    assert "control" not in table and len(table.splitlines()) == 1 + 4


def test_a_rerun_runs_it_only_when_something_of_it_changed(controlled, tmp_path):
    project = controlled.clone(tmp_path / "project")
    assert project.to_do() == {}
    project.edit(f"tasks/{TASKS[0]}/task.yaml", "wrong:", "wrong: # first\n")
    assert project.to_do()["control"] == 1 and "generate" not in project.to_do()
