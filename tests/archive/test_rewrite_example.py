"""An archive's answers run again in this checkout's sandbox."""

import sys

import pytest

from fluency.archive.verify import verify_archive
from fluency.common.paths import ROOT
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import contents
from tests.workflow.project import Project


@pytest.mark.engine
def test_executed_again_without_asking_or_git(tmp_path):
    """The archive is of an invented image and commit; the new one is proven where git is not."""
    shape = {"trials": 2, "shells": ["bash"], "conditions": ["as_designed"]}
    model = {"alias": "m", "id": "m", "base_url": "http://127.0.0.1:9", "key_required": False}
    model |= {"temperature": 0.7, "max_tokens": 256}
    made = make(tmp_path / "s", make_study(("stale-lockfiles",), model=model, **shape))
    old = archived(made, tmp_path)
    before = contents(old)
    project = Project.make(tmp_path / "project")
    command = [sys.executable, "-m", "tools.rewrite_example", "--execute", str(old)]
    project.run(command, 0, {"PYTHONPATH": f"{project.root / 'scripts'}:{ROOT}"})
    (new,) = tmp_path.glob("*.tar.zst")
    assert new.name.startswith("made-up-") and "nocommit" in new.name
    assert verify_archive(new).exit_code == 0
    after = contents(new)
    for trial in (1, 2):
        cell = f"m/bash/stale-lockfiles/{trial}.json"
        generation, execution = f"results/generations/{cell}", f"results/executions/{cell}"
        assert after[generation] == before[generation]
        assert b'"made up"' in before[execution] and b'"made up"' not in after[execution]
