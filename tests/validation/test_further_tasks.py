"""The tasks beyond the first twenty: their commands are the ones that were proven on real shells."""

from __future__ import annotations

from collections import defaultdict

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.tasks import load_tasks
from tests.scoring.recordings import read_lines


def proven() -> dict[tuple[str, str, str], list[str]]:
    """The recorded commands by task, shell and kind, each once, in their order."""
    found: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for row in read_lines("executions-more.jsonl"):
        found[row["task"], row["shell"], row["kind"]][row["command"]] = None
    return {key: list(commands) for key, commands in found.items()}


PROVEN = proven()
# What a model is asked. Another prompt is another task: bump the task's version with it.
PROMPTS = "ae0062bb7305c877d353a033f71c5b899246755b75e2380c1493355ffa90a714"
TASKS = [task for task in load_tasks() if (task.id, "bash", "reference") in PROVEN]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_reference_and_wrong_command_is_a_recorded_one(task) -> None:
    for shell in DESIGN_SHELLS:
        assert task.references[shell] == PROVEN[task.id, shell, "reference"]
        assert task.wrong[shell] == PROVEN[task.id, shell, "wrong"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_author_says_beforehand_which_shell_it_leans_to_and_how_hard_it_is(task) -> None:
    assert task.lean and task.difficulty


def test_the_prompts_of_the_forty_are_the_ones_their_versions_stand_for() -> None:
    assert len(TASKS) == 40
    asked = {task.id: [task.version, task.prompt] for task in TASKS}
    assert sha256(canonical_json(asked)) == PROMPTS
