"""The tasks: their shapes, their prompts, and their commands, recorded on real shells."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import PILOT
from fluency.core.task_world import expected_in, planned, world_for
from fluency.core.tasks import load_tasks
from tests.scoring.recordings import DATA, read_lines, recorded

TASKS = load_tasks(PILOT)
PINNED = json.loads((DATA / "pilot.json").read_text())
"""Hashes of the twenty's texts and worlds, and their answers; only a new version changes them."""
PROMPTS = {
    "easy-20": "fafa574ca1ea4869dc2156ff3ef0196adc5e2dafe497d70682a30b1889b25d0f",
    "full-60": "de6e75cc00946f6381c02d4d6214ad4e572d2cbeabf7b5b4ba32ebb1dd16e929",
    "demanding": "7e1541ff3b5cf9eaaed86023ff4db3881ee03d93651f36d9162702ed273eb0fb",
    "everyday": "8a5e29ed367b86daa7147c1c2ebafa9422887d491dd8a79a97bc5b491d6600ef",
}
"""What models are asked, by set. With another prompt raise the task's version."""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_pilot_task_has_the_pinned_texts_worlds_and_answers(task):
    worlds = {str(seed): world_for(task, seed) for seed in (11, 24)}
    hashes = {name: getattr(task, name) for name in ("prompt_sha256", "check_sha256")}
    assert PINNED[task.id] == hashes | {
        "worlds": {seed: world.sha256 for seed, world in worlds.items()},
        "answers": {seed: expected_in(task, int(seed)) for seed in worlds},
    }


def test_pilot_has_tasks_of_four_categories_and_three_origins():
    assert set(PINNED) == {task.id for task in TASKS}
    categories = {"file-inspection": 7, "text-processing": 7}
    categories |= {"process-introspection": 3, "network-fetch": 3}
    assert Counter(task.category for task in TASKS) == categories
    origins = {"design": 3, "allowlist": 5, "written": 12}
    assert Counter(task.provenance for task in TASKS) == origins


def test_recordings_hold_every_command_of_every_task():
    lines = [line for line in read_lines("executions.jsonl") if "command" in line]
    recorded = {tuple(line[key] for key in ("task", "shell", "kind", "command")) for line in lines}
    bank = {
        (task.id, shell, kind, command)
        for task in load_tasks()
        if not task.private
        for kind, by_shell in (("reference", task.references), ("wrong", task.wrong))
        for shell, commands in by_shell.items()
        for command in commands
    }
    recorded = {key for key in recorded if key[2] != "other-dialect"}
    assert recorded == bank, "run `make recordings` again"


def test_pilot_prompts_name_no_shell_and_no_program():
    names = re.compile("bash|powershell|pwsh|cmdlet|grep|awk", re.IGNORECASE)
    assert not any(names.search(task.prompt) for task in TASKS)


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_of_a_set_are_those_of_its_versions(name):
    asked = {task.id: [task.version, task.prompt] for task in load_tasks(name)}
    assert sha256(canonical_json(asked)) == PROMPTS[name]


@pytest.mark.parametrize("seed", (11, 24))
def test_hidden_files_do_not_decide_where_the_prompt_is_silent(seed):
    """`find` sees them and Get-ChildItem does not: a prompt says which counts, or neither does."""
    for task in load_tasks():
        if (
            "hidden" in task.prompt or task.id == "link-targets"
        ):  # whose links are followed, not searched for
            continue
        world, processes = planned(task, seed)

        def shown(path, prompt=task.prompt):
            names = path.removeprefix(".git/").split("/")  # git itself reads its folder
            return not any(name[0] == "." and name not in prompt for name in names)

        files = {path: data for path, data in world.files.items() if shown(path)}
        seen = replace(world, files=files, dirs=tuple(filter(shown, world.dirs)))
        for answer in (task.expected, task.state):
            assert answer(seen, processes) == answer(world, processes), task.id


@pytest.mark.parametrize("task", load_tasks("full"), ids=lambda task: task.id)
def test_task_states_lean_and_difficulty_unless_it_is_of_the_pilot(task):
    assert bool(task.lean and task.difficulty) == (task.id not in PINNED)


@pytest.mark.parametrize("task", load_tasks("demanding"), ids=lambda task: task.id)
def test_demanding_task_is_short_and_has_two_references_and_three_wrong_commands(task):
    assert 17 <= len(task.prompt.split()) <= 73, "docs/tasks.md states these bounds"
    for shell in DESIGN_SHELLS:
        assert len(set(task.references[shell])) == 2 and len(set(task.wrong[shell])) >= 3


CHANGING = [task.id for task in load_tasks("full") if task.state(*planned(task, 11))]


@pytest.mark.parametrize("shell", DESIGN_SHELLS)
@pytest.mark.parametrize("name", CHANGING)
def test_changing_task_has_wrong_commands_of_each_kind(name, shell):
    """One changes nothing that is asked for, one more or something else, one leaves a file."""
    wrong = [
        line
        for line in recorded()
        if (line.task.id, line.shell, line.kind) == (name, shell, "wrong")
    ]
    asked = wrong[0].task.state(*planned(wrong[0].task, 11))
    files = {path for path, wanted in asked.items() if "files" not in (wanted or ())}
    kinds = set()
    for line in wrong:
        left = line.judgement().left
        made = [one.path for one in line.result.state or () if one.kind != "absent"]
        touched = {path for path in files if any(f"{one}/".startswith(f"{path}/") for one in made)}
        touched |= set(line.result.helpers_ended)
        only_more = len(left) == 1 and "has other files" in left[0]
        if left and line.result.exit_code == 0:
            kinds.add("none" if not touched else "more" if only_more else "other")
    assert kinds >= ({"none", "other"} | ({"more"} if files != asked.keys() else set()))
