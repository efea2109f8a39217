"""`make validate` in the real sandbox: sound tasks are called sound, and broken ones are caught.

A task that inspects files is proven sound in test_adding_a_task.py.
"""

import shutil

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.study import Limits
from fluency.validation.validate import validate

pytestmark = pytest.mark.engine
SEEDS = (11, 24)


@pytest.mark.parametrize(
    "task_id", ["session-tool-failures", "worker-queues", "fetch-redirect-sha256"]
)
def test_validate_other_categories_and_worlds(task_id, sandbox, monkeypatch):
    monkeypatch.setattr("fluency.validation.validate.REPEATS", 4)
    monkeypatch.setattr("fluency.validation.validate.FILE_REPEATS", 4)
    report = validate([task_id], (7, 38), sandbox, Limits())
    assert not report.problems, report.text()
    assert {row[-1] for row in report.rows} in ({"sound"}, {"sound", "not validated"})
    (deadline, *_) = report.notes
    assert deadline.startswith("Bash: slowest reference ") and deadline.endswith("is 30 s")
    assert report.executions >= 20


def test_validate_names_unsound(tmp_path, sandbox, monkeypatch):
    monkeypatch.setattr("fluency.core.tasks.TASKS", tmp_path)
    monkeypatch.setattr("fluency.validation.validate.FILE_REPEATS", 16)
    # The faults below are Bash's.
    monkeypatch.setattr(sandbox, "why_missing", lambda shell: shell != "bash")
    right = "find crates/vox-corpus -type f -exec cat {} + | wc -c"
    file = shutil.copytree(TASKS / "tree-size-bytes", tmp_path / "tree-size-bytes") / "task.yaml"
    values = yaml.safe_load(file.read_text())
    values["references"]["bash"] = [
        "du -sb crates/vox-corpus | cut -f1",
        f'[ -e /tmp ] && if [ "$(date +%N | tail -c 2)" -lt 5 ]; then {right}; else echo 1; fi',
    ]
    values["wrong"]["bash"] = [right, "echo 1"]
    file.write_text(yaml.safe_dump(values))
    report = validate([], SEEDS, sandbox, Limits())
    problems = "\n".join(report.problems)
    assert report.problems and "a reference fails in world 11: du -sb" in problems
    assert f"a wrong command passes in an odd and an even world: {right}" in problems
    assert "echo 1" not in problems.replace("else echo 1", "")
    assert "a reference is judged differently when repeated: [ -e /tmp ]" in problems
    assert report.rows[0][-1] == "UNSOUND"
    search = validate([], SEEDS, sandbox, Limits(), only_wrong=True)
    assert [line.partition(": ")[2] for line in search.problems] == [
        f"a wrong command passes in an odd and an even world: {right} (worlds 11, 24)"
    ]


def test_validate_only_wrong_in_worlds_that_once_let_one_pass(sandbox):
    """Every Rust file was below a src there; no reference runs."""
    report = validate(["rust-file-count"], (137, 124), sandbox, Limits(), only_wrong=True)
    rows = [row for row in report.rows if row[-1] != "not validated"]  # of an image without Nushell
    assert not report.problems and {row[2] for row in rows} == {"0/0"}, report.text()


def test_validate_seeds_of_one_parity(sandbox):
    with pytest.raises(UserError, match="odd and an even seed"):
        validate(["tree-size-bytes"], (11, 13), sandbox, Limits())
