"""A cell's score from its records."""

from functools import partial

import pytest

from fluency.common.errors import UserError
from fluency.common.paths import TASKS
from fluency.core.records import (
    Answer,
    Execution,
    Extraction,
    Generation,
    ImageInfo,
    Request,
    Run,
    Usage,
)
from fluency.core.shells import CONDITIONS
from fluency.core.study import Cell, Limits
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task
from fluency.execution.extract import extract
from fluency.scoring import score_cell as scoring
from tests.scoring.recordings import result

CODE = "c" * 64
score_cell = partial(scoring.score_cell, code_sha256=CODE)
SEEDS = (11, 24)
TASK = load_task(TASKS / "tree-size-bytes")
RIGHT = {seed: f"{TASK.expected(world_for(TASK, seed))[0]}\n" for seed in SEEDS}
COMMAND = "find crates/vox-corpus -type f -printf '%s\\n' | awk '{s+=$1} END {print s}'"


def generation(reply=COMMAND, outcome="ok", shell="bash", task=TASK):
    asked = {"model_id": "m", "prompt": "p", "max_tokens": 100, "protocol": 1, "trial": 1}
    request = Request(**asked, temperature=0.7)
    said = {"outcome": outcome, "text": reply, "raw": {}, "usage": Usage(), "latency_s": 1.0}
    by = {"received_utc": "2026-11-22T00:00:00Z", "server": "embedded", "client": "anthropic"}
    answer = Answer(request_key="ab" * 32, request=request, **said, **by)
    unpaid = {"cost_usd": None, "price": None, "temperature_requested": 0.7, "provenance": {}}
    cell = Cell("m", shell, task.id, 1)
    return Generation(cell=cell, answer=answer, task_sha256=task.sha256, **unpaid)


def run(seed, each, condition="as_designed", reading="strict", task=TASK):
    sha = world_for(task, seed).sha256
    return Run(seed=seed, world_sha256=sha, condition=condition, reading=reading, result=each)


def execution(runs, made=None, **changed):
    made = made or generation()
    ok = made.answer.outcome == "ok"
    extraction = extract(made.answer.text) if ok else Extraction(strict=None, lenient=None)
    hashes = {"content_sha256": "c" * 64, "packages_sha256": "d" * 64}
    image = ImageInfo(image_id="i", base="b", architecture="a", shells={}, **hashes)
    fields = {"cell": made.cell, "request_key": "ab" * 32, "extraction": extraction, "runs": runs}
    where = {"image": image, "limits": Limits(), "timeout_s": 30.0, "engine": {}, "provenance": {}}
    return Execution(**(fields | where | changed))


def right(**fields):
    return [run(seed, result(RIGHT[seed], **fields)) for seed in SEEDS]


def verdicts(score):
    return score.passed, score.exit_ok, score.structural_pass, score.content_ok


def test_score_cell_right_in_both_worlds():
    score = score_cell(TASK, generation(), execution(right()), world_for, seeds=SEEDS)
    assert verdicts(score) == (True,) * 4 and score.lenient_passed
    assert (score.failure_class, score.why) == (None, "Right in every world.")
    assert score.no_unix_tools_passed is None and score.side_effects == []
    found = [(world.seed, world.expected, world.wall_s) for world in score.worlds]
    assert found == [(seed, [RIGHT[seed].strip()], 0.2) for seed in SEEDS]
    assert (score.make_up.made_of, score.make_up.commands) == ("unix-only", ["find", "awk"])
    assert score.task_sha256 == TASK.sha256 and score.provenance["code_sha256"] == CODE
    assert score.provenance["check_sha256"] == TASK.check_sha256


def test_score_cell_sensitivities_differ():
    failed = score_cell(TASK, generation(), execution(right(exit_code=1)), world_for)
    assert verdicts(failed) == (False, False, False, True)
    runs = [run(seed, result("")) for seed in SEEDS]
    empty = score_cell(TASK, generation(), execution(runs), world_for)
    assert verdicts(empty) == (False, True, False, False)


def test_score_cell_stopped_helpers():
    runs = right(helpers_intact=False)
    score = score_cell(TASK, generation(), execution(runs), world_for)
    assert (score.passed, score.failure_class) == (False, "side-effects")
    assert not any(world.passed for world in score.worlds)
    assert score.side_effects == ["a process or the service that the task set up was stopped"]


def test_score_cell_side_effects_of_passing_answer():
    runs = right(tree_changed=True, leftover=["sleep"])
    score = score_cell(TASK, generation(), execution(runs), world_for)
    changed, left = score.side_effects
    assert score.passed and changed == "the working folder was changed"
    assert left == "processes were left running: sleep"


def test_score_cell_lenient_reading():
    made = generation(f"Use this:\n```bash\n{COMMAND}\n```")
    complaint = "bash: line 1: Use: command not found\n"
    failing = [run(seed, result("", 127, complaint)) for seed in SEEDS]
    lenient = [run(seed, result(RIGHT[seed]), reading="lenient") for seed in SEEDS]
    score = score_cell(TASK, made, execution([*failing, *lenient], made), world_for, seeds=SEEDS)
    assert (score.passed, score.lenient_passed, score.failure_class) == (False, True, "format")
    assert score_cell(TASK, made, execution(failing, made), world_for).lenient_passed is None


def test_score_cell_second_condition():
    made = generation("Get-Date", shell="pwsh")
    second = [run(seed, result("", 1), condition="no_unix_tools") for seed in SEEDS]
    score = score_cell(TASK, made, execution([*right(), *second], made), world_for, seeds=SEEDS)
    assert (score.passed, score.no_unix_tools_passed) == (True, False)
    second = [run(seed, result(RIGHT[seed]), condition="no_unix_tools") for seed in SEEDS]
    wrong = [run(seed, result("1\n")) for seed in SEEDS]
    score = score_cell(TASK, made, execution([*wrong, *second], made), world_for)
    assert (score.passed, score.no_unix_tools_passed) == (False, True)


def test_score_cell_condition_that_does_not_apply():
    asked = {"seeds": SEEDS, "conditions": list(CONDITIONS)}

    def under_aliases(command, runs, **how):
        made = generation(command, shell="bash" if command == "find ." else "pwsh")
        score = score_cell(TASK, made, execution(runs, made), world_for, **(asked | how))
        return score.windows_aliases_passed

    wrong = [run(seed, result("1\n")) for seed in SEEDS]
    again = [run(seed, result(RIGHT[seed]), condition="windows_aliases") for seed in SEEDS]
    assert under_aliases("Get-Date", right()) is True and under_aliases("Get-Date", wrong) is False
    assert under_aliases("ls", right()) is None, "it applies and was not run"
    assert under_aliases("ls", [*wrong, *again]) is True
    assert under_aliases("Get-Date", right(), conditions=["as_designed"]) is None, "not asked for"
    assert under_aliases("find .", right()) is None, "Bash has no such condition"


@pytest.mark.parametrize(
    ("outcome", "reply", "failure"),
    [
        ("refusal", "", "refusal"),
        ("truncated", COMMAND, "truncated"),
        ("empty", "", "empty"),
        ("no-call", "", "no-tool-call"),
        ("ok", "``` \n```", "empty"),
    ],
)
def test_score_cell_reply_without_command(outcome, reply, failure):
    made = generation(reply, outcome, shell="pwsh")
    asked = {"seeds": SEEDS, "conditions": list(CONDITIONS)}
    score = score_cell(TASK, made, execution([], made), world_for, **asked)
    under = (score.lenient_passed, score.no_unix_tools_passed, score.windows_aliases_passed)
    assert (*verdicts(score), *under) == (False,) * 7
    assert (score.failure_class, score.make_up, score.worlds) == (failure, None, [])
    assert score_cell(TASK, made, execution([], made), world_for).no_unix_tools_passed is None


def test_score_cell_unmeasured_shell():
    made = generation("Get-ChildItem", shell="pwsh")
    unmeasured = execution([], made, not_measured="the image holds no PowerShell")
    score = score_cell(TASK, made, unmeasured, world_for, seeds=SEEDS)
    assert (*verdicts(score), score.lenient_passed) == (None,) * 5
    assert (score.failure_class, score.not_measured) == (None, "the image holds no PowerShell")
    assert score.why == "Not measured: the image holds no PowerShell."
    assert score.make_up.made_of == "cmdlets-only"


def test_score_cell_make_up_follows_the_shell():
    made = generation('awk "/^```/" Cargo.toml')
    score = score_cell(TASK, made, execution(right(), made), world_for)
    assert score.make_up.made_of == "unix-only"
    complaint = "bash: -c: line 1: syntax error near unexpected token `)'\n"
    broken = [run(seed, result("", 2, complaint)) for seed in SEEDS]
    score = score_cell(TASK, generation(), execution(broken), world_for)
    assert score.make_up.made_of == "does-not-parse"


@pytest.mark.parametrize(
    ("records", "seeds"),
    [
        (execution(right(), request_key="cd" * 32), None),
        (execution(right(), cell=Cell("m", "pwsh", TASK.id, 1)), None),
        (execution(right()[:1]), SEEDS),
        (execution([*right(), *right()]), SEEDS),
        (execution([each.model_copy(update={"world_sha256": "0" * 64}) for each in right()]), SEEDS),
    ],
)  # fmt: skip
def test_score_cell_unrelated_records(records, seeds):
    with pytest.raises(UserError):
        score_cell(TASK, generation(), records, world_for, seeds=seeds)
