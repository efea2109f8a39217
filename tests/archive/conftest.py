"""One small registered study and its archive for all tests of the folder."""

from pathlib import Path

import pytest

from fluency.archive.registration import preregister
from fluency.core.tasks import load_tasks
from tests.archive.factory import Made, archived, make, make_study

TASKS = ("fetch-top-crates", "stale-lockfiles")


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Made:
    root = tmp_path_factory.mktemp("study")
    draft = make_study(TASKS, decision="which shell our prompts name")
    path = preregister(
        draft, load_tasks(draft.tasks), draft.decision, root / "preregistrations", utc="2026-11-01T00:00:00Z"
    )
    return make(root, draft.model_copy(update={"preregistration": str(path)}))


@pytest.fixture(scope="session")
def archive(made, tmp_path_factory) -> Path:
    log = made.root / "run.log"
    log.write_text("16 of 16 steps done\n")
    return archived(made, tmp_path_factory.mktemp("archive"), logs={"logs/run.log": log})
