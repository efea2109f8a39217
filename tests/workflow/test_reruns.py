"""Real reruns: each change redoes what it must, and asks for nothing twice.

All kinds of change: test_rerun_keys.py.
"""

import pytest

from tests.workflow.project import TASKS, model

pytestmark = pytest.mark.engine
END = {"gather": 1, "report": 1}


def test_new_model_and_trials_ask_new_cells_only(project, flawless):
    project.configure(models=[model(flawless.url), model(flawless.url, "other")])
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.configure(models=[model(flawless.url)], trials=2)
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.snakemake()
    assert len(flawless.requests) == 4


def test_prompt_changed_and_back_asks_each_request_once(project, flawless, monkeypatch):
    """`make plan` names the jobs and reasons that Snakemake's dry run has."""
    monkeypatch.setattr(flawless, "answer", lambda prompt: "true")
    task = f"tasks/{TASKS[1]}/task.yaml"
    words = ("Print a single integer, digits only.", "Print one.")
    remade = "input files updated by another job"
    jobs = {"generate": {"changed: prompt": 2}, "execute": {remade: 2}, "score": {remade: 2}}
    for pair, calls in ((words, 2), (words[::-1], 0)):
        project.edit(task, *pair)
        plan = {"calls": {"to make": calls}, **jobs, "gather": {remade: 1}, "report": {remade: 1}}
        assert project.plan() == plan
        project.snakemake()
        assert len(flawless.requests) == 2 and project.to_do() == {}


@pytest.mark.pwsh  # else a plan counts its turns, which no run asks
def test_reexecution_asks_no_turn_again(project, flawless):
    """What was shown stays, and the report says how many messages show an earlier execution."""
    project.configure(turns=2)
    assert project.to_do() == {"generate": 4, "execute": 4, "score": 4, **END}
    project.snakemake()
    project.configure(sandbox={"limits": {"memory_mb": 1000}})
    assert project.plan()["calls"] == {"to make": 0} and project.to_do()["execute"] == 8
    project.snakemake()
    assert [seen.turn for seen in flawless.requests] == [2] * 4
    report = (project.root / "results/test/report.md").read_text()
    assert "4 of 4 messages show an earlier execution than the record" in report


def test_lost_image_record_executes_its_shell_again(project):
    (project.root / "results/images/pwsh.json").unlink()
    assert project.to_do() == {"image": 1, "execute": 2, "score": 2, **END}
