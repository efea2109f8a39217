"""A cell's score from its records."""

import pytest

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.records import Execution, Extraction, Generation, Run
from fluency.core.shells import SHELLS
from fluency.core.study import Cell, Limits, read_study
from fluency.core.table import side_effects_of
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task
from fluency.execution.extract import extract
from fluency.generation.request import request_for
from fluency.scoring.score_cell import score_cell
from tests.archive.factory import ASKED, Executor, answer_to
from tests.scoring.recordings import result

CODE = "c" * 64
STUDY = read_study()
AS_DESIGNED = STUDY.model_copy(update={"conditions": ["as_designed"]})
SEEDS = STUDY.seeds
TASK = load_task(TASKS / "tree-size-bytes")
RIGHT = {seed: f"{TASK.expected(world_for(TASK, seed))[0]}\n" for seed in SEEDS}
COMMAND = "find crates/vox-corpus -type f -printf '%s\\n' | awk '{s+=$1} END {print s}'"


def generation(reply=COMMAND, outcome="ok", shell="bash"):
    cell = Cell(STUDY.models[0].alias, shell, TASK.id, 1)
    answer = answer_to(request_for(STUDY, cell, "p"), reply, ASKED(cell))
    answer = answer.model_copy(update={"outcome": outcome})
    unpaid = {"cost_usd": None, "price": None, "temperature_requested": 0.7, "provenance": {}}
    return Generation(cell=cell, answer=answer, task_sha256=TASK.sha256, **unpaid)


def run(seed, each, condition="as_designed", reading="strict"):
    sha = world_for(TASK, seed).sha256
    return Run(seed=seed, world_sha256=sha, condition=condition, reading=reading, result=each)


def everywhere(*printed, **how):
    """A run in each world, with the same result."""
    return [run(seed, result(*printed), **how) for seed in SEEDS]


def execution(runs, made, **changed):
    ok = made.answer.outcome == "ok"
    extraction = extract(made.answer.text) if ok else Extraction(strict=None, lenient=None)
    fields = {"cell": made.cell, "request_key": made.answer.request_key, "runs": runs}
    fields |= {"extraction": extraction, "image": Executor([TASK], SHELLS).images["bash"]}
    where = {"limits": Limits(), "timeout_s": 30.0, "engine": {}, "provenance": {}}
    return Execution(**(fields | where | changed))


def right(how=None, **fields):
    return [run(seed, result(RIGHT[seed], **fields), **(how or {})) for seed in SEEDS]


def score(runs, made=None, study=STUDY, **changed):
    made = made or generation()
    return score_cell(study, TASK, made, execution(runs, made, **changed), world_for, CODE)


def verdicts(found):
    return found.passed, found.exit_ok, found.structural_pass, found.content_ok


def test_score_cell_right_in_both_worlds():
    found = score(right())
    assert verdicts(found) == (True,) * 4 and found.lenient_passed
    assert (found.failure_class, found.why) == (None, "Right in every world.")
    assert set(found.passed_under.values()) == {None}
    worlds = [(world.seed, world.expected, world.wall_s) for world in found.worlds]
    assert worlds == [(seed, [RIGHT[seed].strip()], 0.2) for seed in SEEDS]
    assert (found.make_up.made_of, found.make_up.commands) == ("unix-only", ["find", "awk"])
    assert found.task_sha256 == TASK.sha256 and found.provenance["code_sha256"] == CODE
    assert found.provenance["check_sha256"] == TASK.check_sha256


def test_score_cell_without_a_parser_classifies_no_make_up(monkeypatch):
    monkeypatch.setitem(
        SHELLS, "nu", SHELLS["bash"].model_copy(update={"name": "nu", "grammar": None})
    )
    found = score(right(), generation(shell="nu"))
    assert found.passed and found.make_up is None


def test_score_cell_right_in_one_world_fails_in_each_way():
    made, ways = generation("Use `Get-Date`", shell="pwsh"), [{}, {"reading": "lenient"}]
    ways += [{"condition": "no_unix_tools"}, {"condition": "windows_aliases"}]
    halves = [(right(way)[0], everywhere("", 1, **way)[1]) for way in ways]
    found = score([run for half in halves for run in half], made)
    under = (found.lenient_passed, *found.passed_under.values())
    assert (*verdicts(found), *under) == (False,) * 7


def test_score_cell_sensitivities_differ():
    assert verdicts(score(right(exit_code=1))) == (False, False, False, True)
    assert verdicts(score(everywhere(""))) == (False, True, False, False)


def test_score_cell_side_effects():
    """Only a command that stops what the task set up fails by it."""
    stopped = score(right(helpers_intact=False))
    assert (stopped.passed, stopped.failure_class) == (False, "side-effects")
    assert not any(world.passed for world in stopped.worlds)
    runs = right(tree_changed=True, leftover=["sleep"])
    assert score(runs).passed
    effects = ["the working folder was changed", "processes were left running: sleep"]
    assert side_effects_of(execution(runs, generation())) == effects


def test_score_cell_lenient_reading():
    made = generation(f"Use this:\n```bash\n{COMMAND}\n```")
    failing = everywhere("", 127, "bash: line 1: Use: command not found\n")
    found = score([*failing, *right({"reading": "lenient"})], made)
    assert (found.passed, found.lenient_passed, found.failure_class) == (False, True, "format")
    assert score(failing, made).lenient_passed is None


def test_score_cell_second_condition():
    made = generation("Get-Date", shell="pwsh")
    bare = {"condition": "no_unix_tools"}
    found = score([*right(), *everywhere("", 1, **bare)], made)
    assert (found.passed, found.passed_under["no_unix_tools"]) == (True, False)
    found = score([*everywhere("1\n"), *right(bare)], made)
    assert (found.passed, found.passed_under["no_unix_tools"]) == (False, True)


def test_score_cell_condition_that_does_not_apply():
    def under_aliases(command, runs, study=STUDY):
        made = generation(command, shell="bash" if command == "find ." else "pwsh")
        return score(runs, made, study).passed_under["windows_aliases"]

    wrong, again = everywhere("1\n"), right({"condition": "windows_aliases"})
    assert under_aliases("Get-Date", right()) is True and under_aliases("Get-Date", wrong) is False
    assert under_aliases("ls", right()) is None, "it applies and was not run"
    assert under_aliases("ls", [*wrong, *again]) is True
    assert under_aliases("Get-Date", right(), AS_DESIGNED) is None, "not asked for"
    assert under_aliases("find .", right()) is None, "Bash has no such condition"


@pytest.mark.parametrize(
    "outcome, reply, failure",
    [
        *[(outcome, "", outcome) for outcome in ("refusal", "empty")],
        *[("truncated", COMMAND, "truncated"), ("no-call", "", "no-tool-call")],
        ("ok", "``` \n```", "empty"),
    ],
)
def test_score_cell_reply_without_command(outcome, reply, failure):
    made = generation(reply, outcome, shell="pwsh")
    found = score([], made)
    under = (found.lenient_passed, *found.passed_under.values())
    assert (*verdicts(found), *under) == (False,) * 7
    assert (found.failure_class, found.make_up, found.worlds) == (failure, None, [])
    assert score([], made, AS_DESIGNED).passed_under["no_unix_tools"] is None


def test_score_cell_unmeasured_shell():
    made = generation("Get-ChildItem", shell="pwsh")
    found = score([], made, not_measured="the image holds no PowerShell")
    assert (*verdicts(found), found.lenient_passed) == (None,) * 5
    assert (found.failure_class, found.not_measured) == (None, "the image holds no PowerShell")
    assert found.why == "Not measured: the image holds no PowerShell."
    assert found.make_up.made_of == "cmdlets-only"
    assert verdicts(score([], made, unmeasured="it was lost")) == (None,) * 4


@pytest.mark.parametrize(
    "runs, changed",
    [
        (right(), {"request_key": "cd" * 32}),
        (right(), {"cell": Cell("m", "pwsh", TASK.id, 1)}),
        (right()[:1], {}),
        ([*right(), *right()], {}),
        ([each.model_copy(update={"world_sha256": "0" * 64}) for each in right()], {}),
    ],
)
def test_score_cell_unrelated_records(runs, changed):
    with pytest.raises(UserError):
        score(runs, **changed)
