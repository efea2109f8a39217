"""The bank as tasks of Inspect AI, run by Inspect to the recorded verdicts."""

import json

import pytest

from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks
from tests.programs import completed

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def ran(sandbox, interop, tmp_path_factory):
    """What tests/export/run_inspect_tasks.py found; the sandbox fixture has built the image."""
    out = tmp_path_factory.mktemp("inspect") / "found.json"
    completed(interop / "python", ROOT / "tests/export/run_inspect_tasks.py", out)
    return json.loads(out.read_text())


def test_inspect_judges_answers_as_a_study_does(ran):
    (task,) = load_tasks(["stale-lockfiles"])
    scores = ran["bash"]["scores"]
    right = ["C", "Right in every world.", task.references["bash"][0]]
    assert scores["stale-lockfiles/bash"] == right
    assert scores["tree-size-bytes/bash"] == ["I", "The model declined to answer.", None]
    assert scores["crates-without-readme/bash"][0] == "I"
    assert "World 11" in scores["crates-without-readme/bash"][1]
    assert ran["bash"]["status"] == "success"
    assert ran["bash"]["metrics"]["accuracy"] == pytest.approx(1 / 3)


def test_inspect_gives_no_score_for_missing_shell(ran, sandbox):
    if not sandbox.why_missing("pwsh"):
        pytest.skip("the image holds PowerShell")
    for value, explanation, _ in ran["pwsh"]["scores"].values():
        assert value is None and "no PowerShell" in explanation


def test_inspect_repeats_recorded_verdicts(ran):
    found = ran["agreement"]
    assert found["commands"] >= 4
    assert found["verdicts"] == 2 * found["commands"]
    assert found["differences"] == []
