"""The sixty tasks as they stand in tasks/: their shape, and their commands as they were recorded on real shells."""

import json
import re
from collections import Counter
from functools import cache

import pytest

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import PILOT
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import load_tasks
from tests.scoring.recordings import DATA, read_lines

TASKS = load_tasks(PILOT)
SIXTY = load_tasks("full-60")
PINNED = json.loads((DATA / "pilot.json").read_text(encoding="utf-8"))
"""The hashes of the twenty's texts and worlds, and their answers. They change with a task's version, and never else."""
# What a model is asked. Another prompt is another task: bump the task's version with it.
PROMPTS = "48304912b15538ed0c25cb82ddb910571c545f6eac4ff7cf59ba1113de05b55c"
SINCE_RECORDED = {
    ("changed-deploy-files", "bash"): 1,
    ("changelog-releases", "bash"): 1,
    ("crate-versions", "bash"): 1,
    ("crates-using-reqwest", "bash"): 1,
    ("crates-without-readme", "bash"): 1,
    ("crates-without-readme", "pwsh"): 1,
    ("env-missing-keys", "bash"): 2,
    ("etag-drift", "bash"): 1,
    ("fetch-redirect-sha256", "pwsh"): 1,
    ("largest-rust-files", "bash"): 1,
    ("lockfile-duplicates", "bash"): 1,
    ("lockfile-duplicates", "pwsh"): 1,
    ("orphan-snapshots", "bash"): 1,
    ("orphan-snapshots", "pwsh"): 1,
    ("scheduler-children", "bash"): 4,
    ("scheduler-children", "pwsh"): 1,
    ("session-tool-failures", "bash"): 1,
    ("stale-lockfiles", "bash"): 1,
    ("stale-lockfiles", "pwsh"): 1,
    ("unpinned-actions", "bash"): 1,
    ("unpinned-actions", "pwsh"): 1,
    ("warnings-per-file", "bash"): 1,
    ("worker-queues", "bash"): 2,
    ("worker-queues", "pwsh"): 1,
}
"""How many commands came with a later version of the task: only `make validate` proves these."""


@cache
def recordings() -> list[dict[str, str]]:
    return [*read_lines("executions.jsonl"), *read_lines("executions-more.jsonl")]


def recorded(task_id: str, shell: str, kind: str) -> list[str]:
    rows = recordings()
    found = [
        r["command"] for r in rows if (r["task"], r["shell"], r["kind"]) == (task_id, shell, kind)
    ]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_twenty_have_the_texts_worlds_and_answers_that_are_pinned(task) -> None:
    worlds = {str(seed): world_for(task, seed) for seed in (11, 24)}
    plans = {
        seed: planned_processes(world) if "processes" in task.needs else []
        for seed, world in worlds.items()
    }
    assert PINNED[task.id] == {
        "prompt_sha256": task.prompt_sha256,
        "check_sha256": task.check_sha256,
        "sha256": task.sha256,
        "worlds": {seed: world.sha256 for seed, world in worlds.items()},
        "answers": {seed: task.expected(world, plans[seed]) for seed, world in worlds.items()},
    }


def test_there_are_twenty_tasks_of_four_kinds_and_three_origins() -> None:
    assert set(PINNED) == {task.id for task in TASKS}
    assert Counter(task.category for task in TASKS) == {
        "file-inspection": 7,
        "text-processing": 7,
        "process-introspection": 3,
        "network-fetch": 3,
    }
    assert Counter(task.provenance for task in TASKS) == {
        "design": 3,
        "allowlist": 5,
        "written": 12,
    }


def test_a_task_gets_processes_or_the_service_only_if_it_asks_for_them() -> None:
    needs = {"process-introspection": ["processes"], "network-fetch": ["http"]}
    assert all(task.needs == needs.get(task.category, []) for task in TASKS)


@pytest.mark.parametrize("task", SIXTY, ids=lambda task: task.id)
@pytest.mark.parametrize("shell", DESIGN_SHELLS)
def test_every_recorded_command_is_there_and_what_came_later_is_counted(task, shell: str) -> None:
    """A recorded reference that a later world makes wrong is among the wrong ones."""
    references, wrong = recorded(task.id, shell, "reference"), recorded(task.id, shell, "wrong")
    assert set(wrong) <= set(task.wrong[shell])
    assert set(references) <= {*task.references[shell], *task.wrong[shell]}
    later = {*task.references[shell][: len(references)], *task.wrong[shell]} - {*references, *wrong}
    assert len(later) == SINCE_RECORDED.get((task.id, shell), 0)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_second_reference_is_another_idiom_on_one_line(task) -> None:
    for shell in DESIGN_SHELLS:
        commands = task.references[shell] + task.wrong[shell]
        assert len(set(commands)) == len(commands)
        assert all("\n" not in command and command == command.strip() for command in commands)
        fetches = task.category == "network-fetch"
        expected = 3 if fetches and (task.id, shell) != ("fetch-redirect-sha256", "pwsh") else 2
        assert len(task.references[shell]) == expected
        in_the_folder = [
            c for c in task.references[shell] if re.search(r"(-o|-OutFile|Set-Content) \w+\.\w", c)
        ]
        assert bool(in_the_folder) is fetches and not any("/tmp" in command for command in commands)


def test_no_prompt_names_a_shell_or_a_value_of_a_world() -> None:
    for task in TASKS:
        words = task.prompt.lower()
        assert not any(
            word in words for word in ("bash", "powershell", "pwsh", "cmdlet", "grep", "awk")
        )


def test_the_prompts_are_the_ones_the_versions_stand_for() -> None:
    assert len(SIXTY) == 60
    asked = {task.id: [task.version, task.prompt] for task in SIXTY}
    assert sha256(canonical_json(asked)) == PROMPTS


def test_the_authors_of_the_forty_said_beforehand_which_shell_they_lean_to_and_how_hard_they_are() -> (
    None
):
    assert all(task.lean and task.difficulty for task in SIXTY if task.id not in PINNED)
