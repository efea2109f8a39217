"""Record the executions of all tasks' commands in both shells: `make recordings`.

References and wrong commands run in the sandbox in worlds 11 and 24, a pilot task's reference also
in the other shell. tests/data/executions.jsonl holds what they printed and how it was judged; the
tests judge it again. A task's first line holds its answers and its first reference's output, which
runs with the same output leave out. A run has its own answer where it depends on process ids.
With ids as arguments, only these tasks are recorded again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from fluency.cli import exit_code_of
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.records import Extraction, Result, Stream
from fluency.core.shells import SHELLS
from fluency.core.study import PILOT, read_study
from fluency.core.task_world import expected_in, world_for
from fluency.core.tasks import Task, load_tasks, task_sets
from fluency.execution.sandbox import open_sandbox
from fluency.scoring.failure_class import HeadlineRun, classify
from fluency.scoring.judgement import judge_in
from fluency.validation.probes import Kind, Probe, Prober, ProbeResult
from fluency.validation.validate import KEPT

SEEDS = (11, 24)
PILOT_IDS = task_sets()[PILOT].tasks
FILE = ROOT / "tests" / "data" / "executions.jsonl"
KEPT_STDERR = 120
_DIFFERS_BY_RUN = {"wall_s", "used", "processes", "http_requests", "tree_changed", "changes"}
"""And the state where the task asks for none, the processes only there."""


def probes_of(task: Task, shells: Sequence[str]) -> Iterator[Probe]:
    """All commands of a task, each in both worlds."""
    for shell in shells:
        commands: dict[Kind, Sequence[str]] = {
            "reference": task.references.get(shell, []),
            "wrong": task.wrong.get(shell, []),
        }
        if task.id in PILOT_IDS:
            alien = task.references.get(SHELLS[shell].other_dialect.name, [])
            commands["other-dialect"] = alien[:1]
        for kind, found in commands.items():
            for command in found:
                for seed in SEEDS:
                    yield Probe(task.id, shell, kind, command, seed)


def lines_of(task: Task, findings: Sequence[ProbeResult]) -> Iterator[dict[str, Any]]:
    """The recording of a task: its answers, then each command with its runs by world."""
    answers = {seed: expected_in(task, seed) for seed in SEEDS}
    usual = {
        seed: f.result.stdout.data for seed, f in zip(SEEDS, findings, strict=False) if f.result
    }
    yield {"task": task.id, "answers": answers, "stdout": usual}
    for pair in zip(findings[::2], findings[1::2], strict=True):
        probe, runs, worlds = pair[0].probe, [], {}
        for seed, finding in zip(SEEDS, pair, strict=True):
            if finding.result is None:
                raise ValueError(f"{probe.task}, {probe.shell}, world {seed}: {finding.why}")
            world = world_for(task, seed)
            expected = task.expected(world, finding.result.processes)
            own = {} if expected == answers[seed] else {"expected": expected}
            stderr = finding.result.stderr
            complaint = Stream.of(stderr.raw()[:KEPT_STDERR], stderr.bytes)
            result = finding.result.model_copy(update={"stderr": complaint})
            runs.append(HeadlineRun(seed, result, judge_in(world, task, result)))
            asked = task.state(world, result.processes)
            varies = _DIFFERS_BY_RUN - {"processes"} if asked else _DIFFERS_BY_RUN | {"state"}
            worlds[seed] = _plain(result, usual[seed], varies) | own
        extraction = Extraction(strict=probe.command, lenient=probe.command)
        yield {
            "task": task.id,
            "shell": probe.shell,
            "kind": probe.kind,
            "command": probe.command,
            "passes": [run.seed for run in runs if run.passed],
            "failure_class": classify("ok", extraction, SHELLS[probe.shell], runs).failure_class,
            "worlds": worlds,
        }


def _plain(result: Result, usual: str, varies: set[str]) -> dict[str, Any]:
    """What a verdict depends on, less the usual: exit code 0, no complaint, the first output."""
    part = result.model_dump(exclude_defaults=True, exclude={*varies, "stdout", "stderr"})
    for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
        plain = stream == Stream.of(stream.data.encode())
        part[name] = stream.data if plain else stream.model_dump()
    common = {"exit_code": 0, "stdout": usual, "stderr": ""}
    return {key: value for key, value in part.items() if value != common.get(key)}


def main() -> int:
    """Execute what is not kept from `make validate`, and write the file."""
    study, tasks = read_study(), [task for task in load_tasks() if not task.private]
    chosen = load_tasks(sys.argv[1:]) if sys.argv[1:] else tasks
    sandbox = open_sandbox(study.sandbox)
    prober = Prober(sandbox, tasks, study.sandbox.limits, KEPT)
    probes = {task.id: list(probes_of(task, list(SHELLS))) for task in chosen}
    findings = iter(prober.all([probe for one in probes.values() for probe in one]))
    lines: dict[str, list[str]] = {task.id: [] for task in tasks}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        lines.get(json.loads(line)["task"], []).append(line)
    for task in chosen:
        lines[task.id] = [
            json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            for line in lines_of(task, [next(findings) for _ in probes[task.id]])
        ]
    written = [line for own in lines.values() for line in own]
    write_atomic(FILE, "\n".join(written) + "\n")
    print(f"{FILE}: {len(written)} lines, {prober.executions} executions")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
