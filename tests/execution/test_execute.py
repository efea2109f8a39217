"""What is executed of an answer, and how often a cell is tried to be measured."""

from collections.abc import Sequence

import pytest

from fluency.common.errors import ResultLost, SandboxError
from fluency.core.records import Execution, Extraction
from fluency.core.schema import read_record
from fluency.core.study import Cell
from fluency.execution.execute import MAX_ATTEMPTS, planned_runs
from fluency.workflow.pipeline import Pipeline
from tests.archive.factory import Executor, Made, make_study, measure

BOTH = ["as_designed", "no_unix_tools"]
ALL = [*BOTH, "windows_aliases"]


@pytest.mark.parametrize(
    "shell, conditions, runs",
    [
        ("bash", ALL, ["as_designed"]), ("pwsh", BOTH, BOTH), ("pwsh", BOTH[::-1], BOTH),
        ("pwsh", ["as_designed"], ["as_designed"]), ("pwsh", ALL, ALL),
    ],
)  # fmt: skip
def test_planned_runs_by_shell_and_study(shell, conditions, runs):
    study, said = make_study(conditions=conditions), Extraction(strict="ls", lenient="ls")
    planned = planned_runs(study, shell, said)
    assert list(planned) == [("strict", "ls", run) for run in runs]


def test_planned_runs_by_command():
    """Aliases only where one is called, the lenient reading as designed only."""
    prose = Extraction(strict="Get-Item | Sort-Object Name", lenient="ls")
    study = make_study(conditions=ALL)
    strict = [("strict", prose.strict, condition) for condition in BOTH]
    assert list(planned_runs(study, "pwsh", prose)) == [*strict, ("lenient", "ls", "as_designed")]
    assert list(planned_runs(study, "pwsh", Extraction(strict=None, lenient=None))) == []


class Rule(list):
    generation = property(list)


class Broken(Executor):
    """Raises its errors, one a run, before it works."""

    errors: Sequence[SandboxError] = ()
    ran = 0

    def run(self, invocation):
        self.ran += 1
        if self.errors:
            first, *self.errors = self.errors
            raise first
        return super().run(invocation)


class OneCell:
    """The execute rule for one cell of a made study, run as often as wanted."""

    def __init__(self, root, monkeypatch):
        self.made: Made = measure(root, make_study(("stale-lockfiles",), trials=1))
        self.cell: Cell = next(cell for cell in self.made.cells if cell.shell == "bash")
        self.sandbox = Broken(self.made.tasks)
        self.output = self.made.results / f"executions/{self.cell.path}.json"
        self.output.unlink()
        monkeypatch.setattr("fluency.workflow.pipeline.RESULTS", self.made.results)
        self.pipeline = Pipeline(
            self.made.study.model_dump(mode="json", exclude_none=True), (), None
        )
        self.pipeline.sandbox = lambda: self.sandbox

    def execute(self, *errors: SandboxError) -> Execution:
        self.sandbox.errors = errors
        generation = self.made.results / f"generations/{self.cell.path}.json"
        files = Rule([str(generation)]), [str(self.output)]
        log = [str(self.made.root / "log")]
        self.pipeline.execute(self.cell.path.split("/"), *files, log=log)
        return read_record(Execution, self.output)


@pytest.fixture
def one(tmp_path, monkeypatch):
    return OneCell(tmp_path / "study", monkeypatch)


def ended(why="the container was ended from outside (kill)") -> ResultLost:
    return ResultLost(why, where="sandbox")


def test_execute_records_the_attempt(one):
    for _ in range(2):
        with pytest.raises(ResultLost):
            one.execute(ended())
        assert not one.output.exists()
    record = one.execute()
    assert (record.attempts, record.unmeasured) == (3, None) and record.runs


def test_execute_counts_no_attempt_before_the_start(one):
    for _ in range(2 * MAX_ATTEMPTS):
        with pytest.raises(SandboxError):
            one.execute(SandboxError("the engine refused", where="sandbox"))
    record = one.execute()
    assert (record.attempts, record.unmeasured) == (1, None) and record.runs
    assert not (one.made.results / "attempts").exists()


def test_execute_gives_up_after_three_attempts(one):
    for number in range(MAX_ATTEMPTS - 1):
        with pytest.raises(ResultLost):
            one.execute(ended(f"reason {number}"))
    record = one.execute(ended("reason 2"))
    assert record.runs == [] and record.attempts == MAX_ATTEMPTS
    why = "its command was started 3 times, and no result came back: reason 0; reason 1; reason 2"
    assert record.unmeasured == why
    ran = one.sandbox.ran
    one.output.unlink()
    assert one.execute().unmeasured == record.unmeasured
    assert one.sandbox.ran == ran, "not tried again"
    one.sandbox.change_images(content_sha256="e" * 64)
    assert (one.execute().attempts, one.execute().unmeasured) == (1, None), "counted again"
