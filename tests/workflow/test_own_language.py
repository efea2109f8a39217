"""docs/own-language.md is followed as written: a private entry, its image, a study, its report."""

import json
import re

import pytest
import yaml

from fluency.common.paths import ROOT
from fluency.core.shells import VARIABLE
from fluency.core.table import read_table
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model, reference_answer

pytestmark = pytest.mark.engine
PAGE = (ROOT / "docs" / "own-language.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```yaml title="(.*?)"\n(.*?)^```$', PAGE, re.M | re.S))
TEXT = (ROOT / "docs/assets/lua.yaml").read_text(encoding="utf-8")
ENTRY = yaml.safe_load(TEXT)
RIGHT = (
    "local n = 0; for size in io.popen(\"find crates/vox-corpus -type f -printf '%s\\\\n'\"):lines() "
    "do n = n + size end; print(n)"
)


def answer(prompt):
    """A reference in Bash; in Lua one right answer, and one of each kind of wrong one."""
    if ENTRY["prompt_line"] not in prompt:
        return reference_answer(prompt)
    return "print(" if "SHA" in prompt or "lock" in prompt else RIGHT


@pytest.fixture(scope="module")
def followed(engine, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "languages").mkdir()
    (folder / "languages" / "lua.yaml").write_text(TEXT, encoding="utf-8")
    project = Project.make(folder / "project")
    private = {VARIABLE: str(folder / "languages")}
    try:
        with Endpoint(answer) as endpoint:
            stated = yaml.safe_load(FILES["config/mine.yaml"])
            tasks = ["tree-size-bytes", "stale-lockfiles"]
            own = {"study": "test", "tasks": tasks, "models": [model(endpoint.url)]}
            project.configure(**stated | own)
            project.snakemake(**private)
            project.private = private
            yield project
    finally:
        record = project.root / "results" / "images" / "lua.json"
        if record.exists():
            image = json.loads(record.read_text())["image"]["image_id"]
            engine.client().remove_image(image, force=True)


def test_own_language_is_measured_and_reported(followed):
    image = json.loads((followed.root / "results/images/lua.json").read_text())["image"]
    assert image["shells"]["lua"] == "5.4"
    frame = read_table(followed.root / "results/test/cells.csv")
    lua = frame[frame["shell"] == "lua"].set_index("task")
    assert lua["passed"].to_dict() == {"tree-size-bytes": True, "stale-lockfiles": False}
    assert lua.loc["stale-lockfiles", "failure_class"] == "does-not-parse"
    assert lua["made_of"].isna().all(), "no parser, no composition"
    report = (followed.root / "results/test/report.md").read_text()
    assert "more often in Lua 5.4 than in Bash?" in report


def test_own_language_is_archived_and_verified_with_its_entry_alone(followed):
    archived = followed.fluency("archive", **followed.private).stdout.splitlines()[-1]
    verified = followed.fluency("verify", archived, **followed.private)
    assert "PROVEN" in verified.stdout.splitlines()
    without = followed.fluency("verify", archived, code=3)
    assert f"{VARIABLE} names the folder" in without.stdout
