"""The demanding tasks.

Their commands ran on both real shells in a prototype's worlds, but no recording of these runs is in tests/data. So Bash's
half is proven by `make validate` alone, and PowerShell's by it wherever the image has a PowerShell.
"""

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.tasks import load_tasks
from tests.scoring.recordings import read_lines

TASKS = load_tasks("demanding")
RECORDED = {
    row["task"]
    for name in ("executions.jsonl", "executions-more.jsonl")
    for row in read_lines(name)
}
# What a model is asked. Another prompt is another task: bump the task's version with it.
PROMPTS = "daa531145f3f6f66854fcb8996715a55d2cced54ac1d4821abbc08a72ed98100"


def test_the_prompts_are_short_and_the_ones_their_versions_stand_for() -> None:
    asked = {task.id: [task.version, task.prompt] for task in TASKS}
    assert sha256(canonical_json(asked)) == PROMPTS
    words = [len(task.prompt.split()) for task in TASKS]
    assert (len(words), min(words), max(words)) == (68, 17, 73)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_it_declares_lean_and_difficulty_and_has_two_references_and_three_wrong_commands_a_shell(
    task,
) -> None:
    assert task.lean and task.difficulty
    for shell in DESIGN_SHELLS:
        assert len(set(task.references[shell])) == 2 and len(set(task.wrong[shell])) >= 3
    assert task.id not in RECORDED, (
        "compare its commands with the recorded ones, as those of the sixty are"
    )
