"""Write a study's tasks as Harbor tasks: `python -m tools.interop.harbor.export --into FOLDER`.

One folder a task and shell, for agents that work in a container. The agent explores the world of
the first seed and writes one command; the verifier runs it, in a fresh copy of the environment that
the agent never saw, in a fresh world of every seed, and scores it by copies of the scoring modules.
Schema 1.4 of Harbor's task.toml.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency.cli import exit_code_of
from fluency.common.files import plain_files, pretty_json, write_atomic
from fluency.common.paths import ROOT, SANDBOX, TASKS
from fluency.core.shells import SHELLS, Shell
from fluency.core.study import Study, read_study
from fluency.core.task_world import planned, world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.archives import source_of
from fluency.execution.image import build_arguments, layer
from fluency.execution.image_content import SOURCES
from fluency.execution.protocol import Invocation, encode
from fluency.export import check_empty
from fluency.generation.request import PREAMBLE
from fluency.world.model import WORK_DIR

SCRIPTS = ROOT / "tools" / "interop" / "harbor"
ORGANISATION = "agent-shell-fluency"
ANSWER = "/answer/command"
READY = "/run/fluency-ready"
"""stage.py makes it when the world is there."""
TAIL = f"""COPY stage.py world.gz /opt/fluency/
RUN mkdir -p {WORK_DIR} /answer && chmod 1777 /answer
WORKDIR {WORK_DIR}
ENTRYPOINT ["/opt/fluency/python3", "-I", "-S", "/opt/fluency/stage.py"]
CMD ["sleep", "infinity"]
"""
"""What follows the sandbox's own Dockerfile in an environment's."""
_ALONE = " Output only the command."
_COPIED = ("common/words.py", "scoring/checks.py", "scoring/state.py")
_STUBS = {
    "common/errors.py": "class UserError(Exception):\n"
    '    """A fault of the task itself."""\n\n'
    '    def __init__(self, what, *, where="", hint=""):\n'
    "        super().__init__(what)\n",
    "world/model.py": f"WORK_DIR = {WORK_DIR!r}\n",
    "world/repository.py": "read_repository = None\n",
}
"""In place of the modules that these import, and of which they use no more than this."""


def export_tasks(study: Study, folder: Path) -> None:
    """Write `<task>-<shell>/` for each published task and shell of a study into an empty folder.

    Without tasks that leave a repository, which the verifier cannot read, or lack a reference.
    """
    check_empty(folder)
    for task in load_tasks(study.tasks):
        states = [task.state(*planned(task, seed)) for seed in study.seeds]
        reads_git = any("git" in (wanted or ()) for one in states for wanted in one.values())
        if reads_git or not (TASKS / task.id).is_dir():
            continue
        for shell in filter(task.references.get, study.shells):
            for name, data in task_files(task, SHELLS[shell], study):
                write_atomic(folder / f"{task.id}-{shell}" / name, data)
            for script in ("solution/solve.sh", "tests/test.sh"):
                (folder / f"{task.id}-{shell}" / script).chmod(0o755)


def task_files(task: Task, shell: Shell, study: Study) -> Iterator[tuple[str, bytes | str]]:
    """Name and content of every file of one Harbor task."""
    worlds = {seed: _packed(task, shell, study, seed) for seed in study.seeds}
    yield "task.toml", config(task, shell, study)
    yield "instruction.md", instruction(task, shell)
    yield from environment(shell.name, worlds[study.seeds[0]])
    yield "solution/solve.sh", (SCRIPTS / "solve.sh").read_bytes()
    yield "solution/command", task.references[shell.name][0]
    yield from verifier(task, study.seeds, worlds)


def instruction(task: Task, shell: Shell) -> str:
    """The study's prompt, and the file that the one command goes into."""
    return (
        f"{PREAMBLE}\n\n{task.prompt.strip()}\n\n{shell.prompt_line.removesuffix(_ALONE)}\n\n"
        f"Write the command, and nothing else, into the file `{ANSWER}`. You may try out what you "
        f"like before; only that file counts. {shell.title} runs it once, verbatim, as an "
        "unprivileged user, in fresh copies of this directory as it was at the start. Some of the "
        "copies hold other data, and none has a network but itself.\n"
    )


def config(task: Task, shell: Shell, study: Study) -> str:
    """task.toml; the verifier runs in a fresh copy of the environment with `/answer` alone."""
    limits = study.sandbox.limits
    tables: Mapping[str, Mapping[str, Any]] = {
        "": {"schema_version": "1.4", "artifacts": ["/answer"]},
        "task": {
            "name": f"{ORGANISATION}/{task.id}-{shell.name}",
            "description": f"One {shell.title} command: {task.category}",
            "keywords": ["shell", shell.name, task.category],
        },
        "metadata": {
            "category": task.category,
            "shell": shell.name,
            "lean": task.lean or "",
            "difficulty": task.difficulty or "",
            "seeds": study.seeds,
            "task_sha256": task.sha256,
        },
        "agent": {"timeout_sec": 900.0, "user": "root"},
        "verifier": {
            "timeout_sec": 120.0 + len(study.seeds) * (limits.deadline_s(shell.name) + 30.0),
            "environment_mode": "separate",
            "user": "root",
        },
        "environment": {
            "build_timeout_sec": 1800.0,
            "cpus": 1,
            "memory_mb": 2 * limits.memory_mb,
            "storage_mb": 4096,
            "workdir": WORK_DIR,
        },
        "environment.healthcheck": {
            "command": f"test -e {READY}",
            "interval_sec": 1.0,
            "timeout_sec": 5.0,
            "start_period_sec": 60.0,
            "retries": 60,
        },
    }
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    # A JSON text, number or array of these is a TOML value, too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join([*([f"[{name}]"] if name else []), *lines, ""])


def environment(shell: str, world: bytes) -> Iterator[tuple[str, bytes | str]]:
    """The sandbox image's sources, and the world that stage.py unpacks at the start."""
    head, _ = (SANDBOX / "Dockerfile").read_text(encoding="utf-8").split("ENTRYPOINT ")
    for name, value in build_arguments(shell).items():
        head = re.sub(rf"^ARG {name}=.*", f'ARG {name}="{value}"', head, flags=re.M)
    with TemporaryDirectory() as folder:
        lines = layer(SHELLS[shell], source_of(shell), Path(folder))
        for path in plain_files(Path(folder)):
            yield f"environment/{path.relative_to(folder)}", path.read_bytes()
            lines.append(f"RUN chmod 0755 {SHELLS[shell].argv[0]}")
    yield "environment/Dockerfile", head + "".join(f"{line}\n" for line in lines) + TAIL
    for name in SOURCES:
        if name != "Dockerfile":
            yield f"environment/{name}", (SANDBOX / name).read_bytes()
    yield "environment/stage.py", (SCRIPTS / "stage.py").read_bytes()
    yield "environment/world.gz", world


def verifier(
    task: Task, seeds: Sequence[int], worlds: Mapping[int, bytes]
) -> Iterator[tuple[str, bytes | str]]:
    """The tests, which the environment lacks: worlds, right answers, the scoring modules."""
    of_processes, answers, states = "processes" in task.needs, None, None
    if not of_processes:
        answers = {str(seed): task.expected(world_for(task, seed)) for seed in seeds}
        states = {str(seed): task.state(world_for(task, seed)) for seed in seeds}
    rule = {
        "seeds": list(seeds),
        **task.model_dump(include={"structure", "content"}),
        "expected": answers,
        "state": states,
    }
    yield "tests/rule.json", pretty_json(rule)
    if of_processes:
        yield "tests/answer.py", (task.folder / "answer.py").read_bytes()
    for name in ("test.sh", "verifier.py"):
        yield f"tests/{name}", (SCRIPTS / name).read_bytes()
    for seed, world in worlds.items():
        yield f"tests/worlds/{seed}.gz", world
    package = ROOT / "scripts" / "fluency"
    for name in _COPIED:
        yield f"tests/fluency/{name}", (package / name).read_bytes()
    for name, text in _STUBS.items():
        yield f"tests/fluency/{name}", text
    for folder in ("", "common/", "scoring/", "world/"):
        yield f"tests/fluency/{folder}__init__.py", ""


def _packed(task: Task, shell: Shell, study: Study, seed: int) -> bytes:
    """A world as the sandbox's runner reads it, without a command."""
    limits = study.sandbox.limits
    timeout_s = limits.deadline_s(shell.name)
    invocation = Invocation(shell.name, "", world_for(task, seed), limits, timeout_s, task.needs)
    return gzip.compress(encode(invocation, ""), mtime=0)


def main() -> int:
    """Export the tasks of a configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", action="append", default=[], metavar="FILE")
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    export_tasks(read_study(*options.configfile), options.into)
    print(options.into)
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
