"""`make mutants`: put small faults into the Bash references, execute them, and publish what the checks kill."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.common.terminal import Say, say
from fluency.core.study import Limits, load_study
from fluency.core.tasks import Task, load_tasks
from fluency.execution.sandbox.sandbox import Sandbox, open_sandbox
from fluency.validation.command_operators import mutants
from fluency.validation.validate import Prober
from fluency.validation.validation_plan import Probe

REASONS = ROOT / "tests" / "data" / "mutant_survivors.yaml"
PAGE = ROOT / "docs" / "mutants.md"
_INTRODUCTION = """# What the checks notice

Each task's Bash references get one small fault at a time: a flag dropped, a comparison flipped, a number changed, a
stage of the pipeline, a negation or an anchor removed. Every such mutant is executed in both worlds and judged like
an answer. It is *killed* when it fails in at least one world. A survivor is *equivalent* when no output could tell it
from the reference; it is *left out* when only a world could tell that is kept out on purpose, mostly because the prompt
does not decide the case. Each has its reason below. Any other survivor shows a hole in the world, which is then closed.
The share killed is of the mutants that are not equivalent.

`make mutants` writes this page. The reasons are kept in `tests/data/mutant_survivors.yaml`.
"""


@dataclass(frozen=True)
class Fate:
    """What became of one mutant: `why` is the first failing world's verdict, empty if it passed in every world."""

    task: str
    operator: str
    command: str
    killed: bool
    why: str


def plan_of(tasks: Sequence[Task]) -> list[tuple[str, str, str]]:
    """Task, operator and command of every mutant; a mutant that is itself a reference is none."""
    found: dict[tuple[str, str], str] = {}
    for task in tasks:
        for reference in task.references["bash"]:
            for mutant in mutants(reference):
                if mutant.command not in task.references["bash"]:
                    found.setdefault((task.id, mutant.command), mutant.operator)
    return [(task, operator, command) for (task, command), operator in found.items()]


def execute(
    planned: Sequence[tuple[str, str, str]],
    tasks: Sequence[Task],
    seeds: Sequence[int],
    sandbox: Sandbox,
    *,
    limits: Limits | None = None,
    say: Say = lambda _: None,
) -> list[Fate]:
    """The fate of each mutant; the next world is only asked about those that are still alive."""
    prober = Prober(sandbox, tasks, limits or Limits(), say)
    alive, dead = list(planned), {}
    for seed in seeds:
        found = prober.all([Probe(task, "bash", "wrong", command, seed) for task, _, command in alive])
        for mutant, (finding, _) in zip(alive, found, strict=True):
            if not finding.passed:
                dead[mutant] = finding.why
        alive = [mutant for mutant in alive if mutant not in dead]
    return [Fate(*mutant, mutant in dead, dead.get(mutant, "")) for mutant in planned]


Kind = Literal["equivalent", "left-out"]
KINDS: tuple[Kind, ...] = ("equivalent", "left-out")


class Reason(NamedTuple):
    """Why a mutant survives."""

    kind: Kind
    text: str


Reasons = dict[tuple[str, str], Reason]


def read_reasons(path: Path = REASONS) -> Reasons:
    """Why mutants survive, by task and command; UserError if the file is not of its form."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {
            (task, command): Reason(_kind(group["kind"]), " ".join(group["reason"].split()))
            for task, groups in entries.items()
            for group in groups
            for command in group["mutants"]
        }
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"the reasons cannot be read: {error}",
            where=str(path),
            hint="write task: [{kind: equivalent | left-out, reason: …, mutants: [command, …]}, …]",
        ) from None


def _kind(text: str) -> Kind:
    for kind in KINDS:
        if text == kind:
            return kind
    raise ValueError(f"{text} is no kind of reason")


def unexplained(fates: Sequence[Fate], reasons: Reasons) -> list[Fate]:
    """Survivors without a reason."""
    return [fate for fate in fates if not fate.killed and (fate.task, fate.command) not in reasons]


def page_of(fates: Sequence[Fate], reasons: Reasons, seeds: Sequence[int]) -> str:
    """docs/mutants.md: a table a task, a table an operator, every survivor with its reason."""
    lines = [_INTRODUCTION, f"Worlds: {', '.join(map(str, seeds))}.", ""]
    for title, key in (("Task", "task"), ("Fault", "operator")):
        lines += [
            f"| {title} | Mutants | Killed | Equivalent | Left out | Unexplained | Share killed |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [_row(name, group, reasons) for name, group in sorted(_grouped(fates, key).items())]
        lines += [_row("**all**", list(fates), reasons), ""]
    lines += ["## Survivors", ""]
    for task, group in sorted(_grouped([fate for fate in fates if not fate.killed], "task").items()):
        by_reason: dict[Reason | None, list[str]] = defaultdict(list)
        for fate in group:
            by_reason[reasons.get((task, fate.command))].append(fate.command)
        lines += [f"### {task}", ""]
        for reason, commands in by_reason.items():
            said = f"*{reason.kind.capitalize().replace('-', ' ')}.* {reason.text}" if reason else "**Unexplained.**"
            lines += [said, "", "```bash", *commands, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _grouped(fates: Sequence[Fate], key: str) -> dict[str, list[Fate]]:
    groups: dict[str, list[Fate]] = defaultdict(list)
    for fate in fates:
        groups[getattr(fate, key)].append(fate)
    return groups


def _row(name: str, fates: Sequence[Fate], reasons: Reasons) -> str:
    killed = sum(fate.killed for fate in fates)
    kinds = Counter(reason.kind for f in fates if not f.killed and (reason := reasons.get((f.task, f.command))))
    rest = len(fates) - killed - kinds.total()
    share = killed / max(len(fates) - kinds["equivalent"], 1)
    return f"| {name} | {len(fates)} | {killed} | {kinds['equivalent']} | {kinds['left-out']} | {rest} | {share:.0%} |"


def main(task_ids: Sequence[str] = ()) -> int:
    """Execute every mutant, write docs/mutants.md (of all tasks only), print survivors; 1 if one is unexplained."""
    study, tasks, reasons = load_study(), load_tasks(list(task_ids) or "all"), read_reasons()
    sandbox = open_sandbox(study.sandbox, say)
    fates = execute(plan_of(tasks), tasks, study.seeds, sandbox, limits=study.sandbox.limits, say=say)
    if not task_ids:
        write_atomic(PAGE, page_of(fates, reasons, study.seeds))
    left = unexplained(fates, reasons)
    for fate in left:
        print(f"survives without a reason: {fate.task}: {fate.command}")
    counts = Counter(fate.killed for fate in fates)
    print(f"{len(fates)} mutants: {counts[True]} killed, {counts[False]} survive, {len(left)} of them unexplained")
    return 1 if left else 0
