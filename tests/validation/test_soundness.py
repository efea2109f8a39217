"""What the findings of `make validate` amount to: each way of being unsound is a problem."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from fluency.common.errors import SandboxError
from fluency.core.records import Result
from fluency.core.shells import CONDITIONS, DESIGN_SHELLS, SHELLS
from fluency.core.study import PILOT, Limits, min_deadline_s
from fluency.core.task_world import check_world_pair, expected_in
from fluency.core.tasks import load_tasks
from fluency.execution.protocol import Invocation
from fluency.validation import probes as probing
from fluency.validation import validate as validating
from fluency.validation.probes import Probe, Prober, ProbeResult, every_world_probes
from fluency.validation.validate import (
    ASKS_EXECUTABLE,
    TITLES,
    ValidationReport,
    deadline_sentence,
    slowest_s,
)
from fluency.world import WorldError, build_world
from tests.scoring.recordings import result

TASKS = {task.id: task for task in load_tasks()}
TASK = TASKS["tree-size-bytes"]
REFERENCES = [
    Probe(TASK.id, "bash", "reference", command, seed)
    for command in TASK.references["bash"]
    for seed in (11, 24)
]


def findings(shell, changes=None) -> list[ProbeResult]:
    """A sound task: references pass, all else fails. `changes`: (kind, seed, condition) -> verdict."""
    given = (TASK, [shell], (11, 24))
    probes = [*every_world_probes(*given, 20), *probing.must_fail_probes(*given)]
    found = []
    for probe in probes:
        passed = probe.kind == "reference"
        passed = (changes or {}).get((probe.kind, probe.seed, probe.condition), passed)
        found.append(ProbeResult(probe, passed, "it is so", result()))
    return found


def summary(shell, found: list[ProbeResult]) -> ValidationReport:
    report = ValidationReport()
    validating.add_row(report, TASK.id, shell, found)
    return report


DESIGNED, BARE, WINDOWS = CONDITIONS


@pytest.mark.parametrize(
    "shell, changes, problem",
    [
        ("bash", {("trivial", 11, DESIGNED): True}, "a trivial command passes"),
        ("bash", {("hard-coded", 24, DESIGNED): True}, "the answer of another world passes"),
        ("pwsh", {("reference", 11, BARE): False}, "a reference fails without Unix tools in world 11"),
        ("pwsh", dict.fromkeys([("other-dialect", 11, BARE), ("other-dialect", 24, BARE)], True),
            "a Bash reference passes in PowerShell without Unix tools"),
    ],
)  # fmt: skip
def test_add_row_names_each_problem(shell, changes, problem):
    # A wrong command may be right in one world by luck.
    for sound in ({}, {("wrong", 11, DESIGNED): True}):
        whole = summary(shell, findings(shell, sound))
        assert not whole.problems and whole.rows[0][-1] == "sound"
    report = summary(shell, findings(shell, changes))
    assert report.problems and report.rows[0][-1] == "UNSOUND"
    assert any(problem in said for said in report.problems), report.problems


def test_must_fail_probes_without_a_command_of_both_shells():
    task = TASK.model_copy(update={"references": TASK.references | {"bash": ["git log", "ls"]}})
    probes = probing.must_fail_probes(task, ["pwsh"], (11,))
    assert {probe.command for probe in probes if probe.kind == "other-dialect"} == {"ls"}


def test_add_row_windows_aliases():
    calling = "(ls crates/vox-corpus -Recurse -File | Measure-Object Length -Sum).Sum"
    references = TASK.references | {"pwsh": [*TASK.references["pwsh"], calling]}
    task, given = TASK.model_copy(update={"references": references}), (["pwsh"], (11, 24))
    probes = list(every_world_probes(task, *given, 2))
    tried = [(p.kind, p.command, p.seed) for p in probes if p.condition == WINDOWS]
    assert tried == [("reference", calling, seed) for seed in (11, 24)]
    for passes, cell, problems in ((True, "2/2", 0), (False, "0/2", 2)):
        found = []
        for probe in probes:
            passed = probe.kind == "reference" and (passes or probe.condition != WINDOWS)
            found.append(ProbeResult(probe, passed, "it is so", result()))
        report = summary("pwsh", found)
        assert len(report.problems) == problems, report.problems
        assert dict(zip(TITLES, report.rows[0], strict=True))["with Windows aliases"] == cell
    assert "a reference fails with Windows aliases in world 11" in report.text()


def test_slowest_s_counts_references_only():
    last, kinds = 0, {("reference", DESIGNED): 0.5, ("reference", BARE): 7, ("wrong", DESIGNED): 9}
    found = findings("pwsh")
    for place, each in enumerate(found):
        wall_s = kinds.get((each.probe.kind, each.probe.condition), 8)
        found[place] = replace(each, result=result(wall_s=wall_s))
        last = place if wall_s == 0.5 else last
    found[last] = replace(found[last], result=result(wall_s=1.25))
    assert slowest_s(found) == 1.25 and summary("pwsh", found).rows[0][-2] == "1.25 s"
    assert slowest_s(replace(each, result=None) for each in found) is None


@pytest.mark.parametrize(
    "slowest, deadline, least, short",
    [(0.2, 30, 30, False), (3.0, 30, 30, False), (3.01, 30, 30.1, True), (5, 50, 50, False), (0.1, 29, 30, True)],
)  # fmt: skip
def test_deadline_sentence_follows_slowest_reference(slowest, deadline, least, short):
    assert min_deadline_s(slowest) == pytest.approx(least)
    assert ("TOO SHORT" in deadline_sentence("Bash", deadline, slowest)) is short


@pytest.mark.parametrize("repeats", [2, 20, 33])
def test_every_world_probes_repeats(repeats):
    planned = list(every_world_probes(TASK, ["bash"], (11, 24), repeats))
    runs = [p for p in planned if p.kind == "reference"]
    assert repeats <= len(runs) <= repeats + 4 and len(set(planned)) == len(planned)


def test_every_world_probes_hard_coded_answers():
    planned = every_world_probes(TASK, ["bash"], (11, 24, 13), 2)
    tried = {(p.command, p.seed) for p in planned if p.kind == "hard-coded"}
    printed = {s: probing.hard_coded("bash", TASK, expected_in(TASK, s)) for s in (11, 24, 13)}
    pairs = [(11, 24), (24, 11), (24, 13), (13, 24)]
    assert tried == {(printed[source], seed) for source, seed in pairs}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_trivial_holds_text_of_every_tasks_shape(task):
    counts = [len(probing.trivial(task, shell)) for shell in DESIGN_SHELLS]
    has_shape = task.structure is not None
    assert bool(probing.shape_of(task)) == has_shape and counts == [3 + has_shape] * 2


def test_print_command_quotes_for_each_shell():
    assert SHELLS["bash"].print_command(["it's", "$HOME"]) == "printf '%s\\n' 'it'\"'\"'s' '$HOME'"
    assert SHELLS["pwsh"].print_command(["it's", "$HOME"]) == "'it''s', '$HOME'"
    answer, task = [{"tool": "Read", "failures": 6}], TASKS["session-tool-failures"]
    assert probing.hard_coded("pwsh", task, answer) == '\'[{"tool": "Read", "failures": 6}]\''


class Printing:
    """A sandbox in which every command prints the same line, after some that are lost."""

    parallel = 1

    def __init__(self, lost=0, *, raises=False, digest="0"):
        self.images = {"bash": SimpleNamespace(content_sha256=digest * 64, shells={"bash": "5"})}
        self.ran, self.lost, self.raises = [], lost, raises

    def run(self, invocation: Invocation) -> Result:
        self.ran.append((invocation.command, invocation.world.seed))
        if len(self.ran) > self.lost:
            return result("0\n")
        if self.raises:
            raise SandboxError("lost")
        return result(exit_code=None, lost="lost")


@pytest.mark.parametrize("raises", [True, False])
def test_prober_three_attempts(raises, tmp_path):
    """An execution that the engine lost is tried again, and neither judged nor kept."""
    sandbox = Printing(lost=5, raises=raises)
    prober, probes = Prober(sandbox, [TASK], Limits(), tmp_path), REFERENCES[:1]
    with pytest.raises(SandboxError, match="lost"):
        prober.all(probes)
    assert len(sandbox.ran) == 3 and not list(tmp_path.iterdir())
    (found,) = prober.all(probes)
    assert not found.passed and prober.executions == 1
    assert len(sandbox.ran) == 6 and len(list(tmp_path.iterdir())) == 1
    (found,) = Prober(Printing(3, raises=raises), [TASK], Limits()).all(probes, go_on=True)
    report = summary("bash", [found])
    assert report.rows[0][-1] == "not measured" and not report.problems
    assert "not measured: tree-size-bytes, Bash, world 11: " in report.text()


def test_prober_executes_what_only_prints_once():
    """Trivial and hard-coded answers run once in all, and are judged in each world."""
    sandbox = Printing()
    probes = [p for p in every_world_probes(TASK, ["bash"], (11, 24), 1) if p.kind != "reference"]
    found = Prober(sandbox, [TASK], Limits()).all(probes)
    assert len(found) == 2 * 4 + 2 and len(sandbox.ran) == 4 + 2
    assert {f.probe.seed for f in found} == {11, 24} and not any(f.passed for f in found)


def test_prober_takes_kept_results(tmp_path):
    """A second proof executes nothing; other limits, another image or another world do."""
    ran = []
    small = Limits(memory_mb=900)
    for limits, digest in ((Limits(), "0"), (Limits(), "0"), (small, "0"), (Limits(), "1")):
        sandbox = Printing(digest=digest)
        found = Prober(sandbox, [TASK], limits, tmp_path).all(REFERENCES)
        ran.append(len(sandbox.ran))
        assert [f.probe for f in found] == REFERENCES
    assert ran == [len(REFERENCES), 0, len(REFERENCES), len(REFERENCES)]


SEEDS = range(1, 21)
PILOT_TASKS = load_tasks(PILOT)


def test_check_world_pair_of_bank_and_of_many_seeds():
    check_world_pair((11, 24), load_tasks())
    check_world_pair(list(SEEDS), PILOT_TASKS)
    check_world_pair((2**63 + 1, -4), PILOT_TASKS)
    assert build_world(2**63 + 1).sha256 != build_world(1).sha256


@pytest.mark.parametrize(
    "needs, answer",
    [([], lambda *_: ["always"]), (["processes"], lambda _, facts: [p.name for p in facts if p.name == "vox-sched"])],
)  # fmt: skip
def test_check_world_pair_shared_answer(needs, answer):
    asks = {"expected": answer, "state": lambda *_: {}}
    asks |= {"is_snapshot": False, "folder": PILOT_TASKS[0].folder}
    same = SimpleNamespace(id="same", needs=needs, **asks)
    with pytest.raises(WorldError, match="world 24: same has the same answer as in world 11"):
        check_world_pair((11, 24), [same])


def test_asks_executable_notices_what_noexec_hides():
    for command in ("find . -executable", '[ -x "$f" ]', "if test ! -x a; then :; fi"):
        assert ASKS_EXECUTABLE.search(command)
    for command in ("find . -perm /111", "pgrep -x vox-job", "[ -f x ]", "grep -- -x a"):
        assert not ASKS_EXECUTABLE.search(command)
