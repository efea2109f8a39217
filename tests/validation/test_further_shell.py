"""A third shell is proven for the tasks that have references in it, and asked of no other."""

import pytest
import yaml

from fluency.common.paths import TASKS
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.validation.probes import every_world_probes, must_fail_probes
from fluency.validation.validate import validate
from tests.scoring.recordings import result
from tools.command_mutants import plan_of

SEEDS = (11, 24)
REFERENCE = "print -l **/*(.) | wc -l"


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Two tasks, one of which has a reference in a further shell of Bash's grammar."""
    named = dict.fromkeys(("name", "title", "short_title"), "zsh")
    monkeypatch.setitem(SHELLS, "zsh", SHELLS["bash"].model_copy(update=named))
    for name in ("tree-size-bytes", "crate-versions"):
        values = yaml.safe_load((TASKS / name / "task.yaml").read_text())
        values["references"].pop("python", None)
        if name == "tree-size-bytes":
            values["references"]["zsh"] = [REFERENCE]
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.yaml").write_text(yaml.safe_dump(values))
        (tmp_path / name / "answer.py").write_bytes((TASKS / name / "answer.py").read_bytes())
    monkeypatch.setattr("fluency.core.tasks.TASKS", tmp_path)
    monkeypatch.setattr("fluency.validation.validate.FILE_REPEATS", 2)
    return load_tasks()


class RightReferences:
    """A sandbox in which references print the answer, and everything else prints nothing."""

    parallel = 1

    def __init__(self, tasks, shells):
        self.shells, self._tasks = shells, tasks

    def why_missing(self, shell):
        return None if shell in self.shells else "it is not there"

    def run(self, invocation):
        answers = {
            command: task.expected(world_for(task, invocation.world.seed))
            for task in self._tasks
            for command in task.references.get(invocation.shell, ())
        }
        printed = "".join(f"{line}\n" for line in answers.get(invocation.command, ()))
        return result(printed, wall_s=0.1)


def proven(tasks, shells):
    limits = Limits(timeout_s={})  # of every shell there is by now
    report = validate([], SEEDS, RightReferences(tasks, shells), limits)
    return report, [(row[0], row[1], row[-1]) for row in report.rows]


def test_validate_further_shell(tasks):
    report, rows = proven(tasks, [*DESIGN_SHELLS, "zsh"])
    two = ("crate-versions", "tree-size-bytes")
    both = [(task, shell, "sound") for shell in DESIGN_SHELLS for task in two]
    assert rows == [*both, ("tree-size-bytes", "zsh", "sound")], report.text()
    assert report.notes[-1].startswith("zsh: slowest reference 0.10 s")


def test_validate_image_without_further_shell(tasks):
    report, rows = proven(tasks, DESIGN_SHELLS)
    assert not report.problems and rows[-1] == ("tree-size-bytes", "zsh", "not validated")
    assert "zsh: not validated, because the sandbox image holds none" in report.text()
    assert f"{len(rows) - 1} of {len(rows)} rows sound" in report.text()


def test_probes_of_task_without_reference(tasks):
    (other,) = [task for task in tasks if "zsh" not in task.references]
    assert not list(every_world_probes(other, ["zsh"], SEEDS, 20))
    assert not list(must_fail_probes(other, ["zsh"], SEEDS))


def test_plan_of_mutates_further_shell_by_its_grammar(tasks):
    mutants = {(mutant.shell, mutant.command) for mutant in plan_of(tasks)}
    assert ("zsh", "print -l **/*(.)") in mutants
    assert {shell for shell, _ in mutants} == {*DESIGN_SHELLS, "zsh"}
