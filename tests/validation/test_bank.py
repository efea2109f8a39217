"""The twenty tasks as they stand in tasks/: their shape, and their commands as they were recorded on real shells."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import PILOT
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import load_tasks

TASKS = load_tasks(PILOT)
FURTHER = [task for task in load_tasks("full-60") if task.id not in {pilot.id for pilot in TASKS}]
DATA = Path(__file__).parents[1] / "data"
PINNED = json.loads((DATA / "pilot.json").read_text(encoding="utf-8"))
"""What the twenty were before the bank grew: the hashes of their texts and worlds, and their answers."""
# What a model is asked. Another prompt is another task: bump the task's version with it.
PROMPTS = "0b7fa131e97417cc3fe1bc94396ef62d717b6c05eb5c1bae3d2675393c507f50"


@cache
def recordings(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def recorded(task_id: str, shell: str, kind: str, name: str = "executions.jsonl") -> list[str]:
    rows = recordings(name)
    found = [r["command"] for r in rows if (r["task"], r["shell"], r["kind"]) == (task_id, shell, kind)]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_twenty_have_the_texts_worlds_and_answers_they_always_had(task) -> None:
    worlds = {str(seed): world_for(task, seed) for seed in (11, 24)}
    plans = {seed: planned_processes(world) if "processes" in task.needs else [] for seed, world in worlds.items()}
    assert PINNED[task.id] == {
        "prompt_sha256": task.prompt_sha256,
        "check_sha256": task.check_sha256,
        "sha256": task.sha256,
        "worlds": {seed: world.sha256 for seed, world in worlds.items()},
        "answers": {seed: task.expected(world, plans[seed]) for seed, world in worlds.items()},
    }


def test_every_task_whose_hash_is_pinned_is_there() -> None:
    assert set(PINNED) == {task.id for task in TASKS}


@pytest.mark.parametrize("task", FURTHER, ids=lambda task: task.id)
def test_every_command_of_a_further_task_is_recorded_and_every_recorded_one_is_there(task) -> None:
    for shell in DESIGN_SHELLS:
        for kind, commands in (("reference", task.references), ("wrong", task.wrong)):
            assert commands[shell] == recorded(task.id, shell, kind, "executions-more.jsonl"), (shell, kind)


def test_there_are_twenty_tasks_of_four_kinds_and_three_origins() -> None:
    assert Counter(task.category for task in TASKS) == {
        "file-inspection": 7,
        "text-processing": 7,
        "process-introspection": 3,
        "network-fetch": 3,
    }
    assert Counter(task.provenance for task in TASKS) == {"design": 3, "allowlist": 5, "written": 12}


def test_a_task_gets_processes_or_the_service_only_if_it_asks_for_them() -> None:
    needs = {"process-introspection": ["processes"], "network-fetch": ["http"]}
    assert all(task.needs == needs.get(task.category, []) for task in TASKS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.parametrize("shell", DESIGN_SHELLS)
def test_the_first_reference_and_the_wrong_commands_are_the_recorded_ones(task, shell: str) -> None:
    assert [task.references[shell][0]] == recorded(task.id, shell, "reference")
    assert sorted(task.wrong[shell]) == sorted(recorded(task.id, shell, "wrong"))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_second_reference_is_another_idiom_on_one_line(task) -> None:
    for shell in DESIGN_SHELLS:
        commands = task.references[shell] + task.wrong[shell]
        assert len(set(commands)) == len(commands)
        assert all("\n" not in command and command == command.strip() for command in commands)
        fetches = task.category == "network-fetch"
        expected = 3 if fetches and (task.id, shell) != ("fetch-redirect-sha256", "pwsh") else 2
        assert len(task.references[shell]) == expected
        in_the_folder = [c for c in task.references[shell] if re.search(r"(-o|-OutFile|Set-Content) \w+\.\w", c)]
        assert bool(in_the_folder) is fetches and not any("/tmp" in command for command in commands)


def test_no_prompt_names_a_shell_or_a_value_of_a_world() -> None:
    for task in TASKS:
        words = task.prompt.lower()
        assert not any(word in words for word in ("bash", "powershell", "pwsh", "cmdlet", "grep", "awk"))


def test_the_prompts_are_the_ones_the_versions_stand_for() -> None:
    asked = {task.id: [task.version, task.prompt] for task in TASKS}
    assert sha256(canonical_json(asked)) == PROMPTS
