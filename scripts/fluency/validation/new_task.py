"""Begin a task in its own folder, and say what its author must still write."""

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import TASKS
from fluency.common.terminal import print_lines
from fluency.core.config_files import read_yaml
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.task_world import check_world_pair, expected_in, world_for
from fluency.core.tasks import (
    CATEGORIES,
    MISSING,
    PAGE,
    PARITIES,
    PRIVATE_TASKS_VARIABLE,
    TASK_ID,
    load_task,
    snapshot_answers,
)

SEEDS = (11, 24)
_STUBS = {
    "answer.py": f'''\
"""{MISSING} what the answer is, in words; then compute it from `world`, without a shell."""


def expected(world, processes):
    return []
''',
    "fixture.py": f'''\
"""{MISSING} the files that the task needs, a trap for each wrong command; or remove this file."""

# from fluency.world import HelperSpec, Route  # for processes and the service


def extend(builder, rng):
    builder.folder("new-task")
    # builder.file("new-task/a.txt", "one\\ntwo\\n")
    # builder.process(HelperSpec("a", "vox-a", ("--port", "80"), threads=("io",)))
''',
}
_OUTPUT = {"structure": {"line": f"{MISSING} a regular expression of a line"}, "content": "set"}


def main(candidate: Path | None, name: str, snapshot: bool) -> None:
    """Begin the task unless its folder exists, and print what it lacks, or its answers."""
    mined = read_yaml(candidate) if candidate else {}
    name = name or (candidate.stem.partition("-")[2] if candidate else "")
    if not name or (candidate and "question" not in mined):
        mine = "FROM= takes a file of `make mine`, such as candidates/01-list-files.yaml"
        hint = f"{mine}; NAME=largest-log begins an empty task"
        raise UserError("nothing to begin a task with", where="FROM, NAME", hint=hint)
    if not re.fullmatch(TASK_ID, name):
        hint = "take lower-case letters, digits and hyphens, such as NAME=largest-log"
        raise UserError(f"{name} cannot be a task's id", where="NAME", hint=hint)
    bank = Path(os.environ.get(PRIVATE_TASKS_VARIABLE) or TASKS).expanduser()
    folder = bank / name
    if not folder.exists():
        for file, text in ({} if snapshot else _STUBS).items():
            write_atomic(folder / file, text)
        changes = snapshot and mined.get("category") == "change"
        for parity, answer in zip(PARITIES, snapshot_answers(changes), strict=True):
            if snapshot:
                (folder / f"world-{parity}").mkdir(parents=True)
            if changes:
                (folder / answer).mkdir()
            elif snapshot:
                what = f"{MISSING} what a right command prints in world-{parity}/, in place of this"
                write_atomic(folder / answer, "\n".join([what, *mined.get("output", ())]) + "\n")
        write_atomic(folder / "task.yaml", yaml_of(name, mined, changes))
        print_lines([f"{folder}: begun"])
    if lacking := lacking_in(folder):
        print_lines([*lacking, f"Missing: {len(lacking)}. Then run this again; see {PAGE}"])
        return
    task = load_task(folder)
    check_world_pair(SEEDS, [task])
    for seed in SEEDS:
        changes = task.structure is None
        right = sorted(task.state(world_for(task, seed))) if changes else expected_in(task, seed)
        in_order = sorted(right) if task.content in ("set", "paths") else right
        print_lines([f"world {seed}: {json.dumps(in_order)}"])
    given = f"{PRIVATE_TASKS_VARIABLE}={bank} " if bank != TASKS else ""
    print_lines([f"Nothing is missing. Prove it: {given}make validate TASK={name}"])


def lacking_in(folder: Path) -> list[str]:
    """Each line of the task's files that its author is still to replace, and empty worlds."""
    worlds = sorted(folder.glob("*-*/"))
    found = [f"{path.name}/: no file yet" for path in worlds if not any(path.iterdir())]
    for path in filter(Path.is_file, sorted(folder.glob("*.*"))):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if MISSING in line:
                said = line.partition(MISSING)[2].strip(" '\"")
                found.append(f"{path.name}:{number}: {said}")
    return found


def yaml_of(name: str, mined: dict[str, Any], changes: bool) -> str:
    """The first text of a task.yaml; one that `changes` files asks for no output."""
    category, commands = mined.get("category"), mined.get("commands", {})
    rule = "no shell, no tool, no value of one world; what each line of the output looks like"
    values = {
        "id": name,
        "version": 1,
        "category": category if category in CATEGORIES else CATEGORIES[0],
        "provenance": "transcript" if mined else "written",
        "provenance_note": "after a request in the author's agent transcripts" if mined else name,
        "prompt": f"{MISSING} the question ({rule}). {mined.get('question', '')}".strip(),
        **({} if changes else _OUTPUT),
        "fixture": f"{MISSING} the traps in the world, in words",
        "fairness": f"{MISSING} why neither shell is favoured",
        "references": {
            shell: commands.get(shell, [f"{MISSING} a right command"]) for shell in DESIGN_SHELLS
        },
        "wrong": {shell: [f"{MISSING} a plausible mistake"] for shell in DESIGN_SHELLS},
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)
