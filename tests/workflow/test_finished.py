"""A finished study is known without Snakemake, and any change at all is left to Snakemake."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.workflow.project import TASKS, Project
from tests.workflow.test_bad_input import fluency

pytestmark = pytest.mark.engine
ASK = "from fluency.workflow.finished import recall\nfrom fluency.workflow.ready_study import open_study\n"


@pytest.fixture(scope="module")
def known(finished, tmp_path_factory) -> Project:
    project = finished.clone(tmp_path_factory.mktemp("known") / "project")
    first = fluency(project, "run", "--configfile", "config/test.yaml")
    assert first.returncode == 0 and "Report:" in first.stdout, first.stderr
    return project


def recalled(project: Project) -> bool:
    code = f"{ASK}print(recall(open_study(['config/test.yaml'])) is not None)"
    command = [project.command()[0], "-c", code]
    done = subprocess.run(command, cwd=project.root, env=project.environ(), capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_a_second_run_says_the_same_and_starts_no_snakemake(known):
    logs = sorted((known.root / ".snakemake" / "log").iterdir())
    again = fluency(known, "run", "--configfile", "config/test.yaml")
    assert again.returncode == 0 and again.stdout.startswith("Nothing to do"), again.stdout
    assert "Report:" in again.stdout and again.stdout.count("gap") >= 1
    assert sorted((known.root / ".snakemake" / "log").iterdir()) == logs


def set_trials(project: Project) -> None:
    project.configure(trials=2)


CHANGES = {
    "a trial more": set_trials,
    "a deleted score": lambda project: project.records("scores")[0].unlink(),
    "a deleted figure": lambda project: next((project.root / "results" / "test" / "figures").iterdir()).unlink(),
    "a deleted page": lambda project: (project.root / "results" / "test" / "explorer.html").unlink(),
    "an edited record": lambda project: project.records("executions")[0].write_text("{}"),
    "an edited check": lambda project: (project.root / "tasks" / TASKS[0] / "answer.py").open("a").write("\n# other\n"),
    "an edited prompt": lambda project: project.edit(f"tasks/{TASKS[0]}/task.yaml", "logs/agent", "the logs/agent"),
    "an edited rule": lambda project: project.edit("Snakefile", "rule image:", "# other\nrule image:"),
    "an edited template": lambda project: project.edit("report/report.md.j2", "# Agent", "# The agent"),
    "an edited runner": lambda project: (project.root / "sandbox" / "runner.py").open("a").write("\n# other\n"),
    "other results": lambda project: (project.root / "results").rename(project.root / "gone"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_left_to_snakemake(known, tmp_path, change):
    project = known.clone(tmp_path / "project")
    note = next((project.root / ".cache" / "finished").glob("*.json"))
    assert yaml.safe_load(note.read_text())[1] and recalled(project)
    CHANGES[change](project)
    assert not recalled(project)


def test_a_damaged_note_is_no_note(known, tmp_path):
    project = known.clone(tmp_path / "project")
    for text in ("", "{", "[]", '[null, "x"]', '{"a": 1, "b": 2}'):
        next((project.root / ".cache" / "finished").glob("*.json")).write_text(text)
        assert not recalled(project)
