"""`make mutants`: put small faults into the references, execute them, and publish what the checks kill."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.grammar import BASH
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, load_study
from fluency.core.task_sets import ALL
from fluency.core.tasks import Task, load_tasks
from fluency.execution.sandbox.sandbox import Sandbox, open_sandbox
from fluency.validation.command_operators import mutants
from fluency.validation.probes import Probe
from fluency.validation.validate import Prober

REASONS = ROOT / "tests" / "data" / "mutant_survivors.yaml"
PAGE = ROOT / "docs" / "mutants.md"
_INTRODUCTION = """# What the checks notice

The Bash references of each task of the bank get one small fault at a time: a flag dropped, a comparison
flipped, a number changed, a stage of the pipeline, a negation or an anchor removed. Every such mutant is executed in
both worlds and judged like an answer. It is *killed* when it fails in at least one world. A survivor is *equivalent*
when no output could tell it from the reference; it is *left out* when only a world could tell that is kept out on
purpose, mostly because the prompt does not decide the case. Each has its reason below. Any other survivor shows a
hole in the world, which is then closed. The share killed is of the mutants that are not equivalent.

`make mutants` writes this page. The reasons are kept in `tests/data/mutant_survivors.yaml`.
"""


class Planned(NamedTuple):
    """One mutant of a task's reference."""

    task: str
    shell: str
    operator: str
    command: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `why` is the first failing world's verdict, empty if it passed in every world."""

    task: str
    shell: str
    operator: str
    command: str
    killed: bool
    why: str


def plan_of(tasks: Sequence[Task], shells: Iterable[str] = SHELLS) -> list[Planned]:
    """The mutants of every reference in Bash's grammar, each once; a mutant that is itself a reference is none."""
    mutable = [shell for shell in shells if SHELLS[shell].grammar == BASH]
    found: dict[tuple[str, str, str], Planned] = {}
    for task, shell in itertools.product(tasks, mutable):
        references = task.references.get(shell, [])
        for operator, command in itertools.chain.from_iterable(map(mutants, references)):
            if command not in references:
                found.setdefault((task.id, shell, command), Planned(task.id, shell, operator, command))
    return list(found.values())


def execute(
    planned: Sequence[Planned],
    tasks: Sequence[Task],
    seeds: Sequence[int],
    sandbox: Sandbox,
    *,
    limits: Limits | None = None,
) -> list[Outcome]:
    """What becomes of each mutant; the next world is only asked about those that are still alive."""
    prober = Prober(sandbox, tasks, limits or Limits())
    killed: dict[Planned, str] = {}
    for seed in seeds:
        alive = [mutant for mutant in planned if mutant not in killed]
        found = prober.all([Probe(mutant.task, mutant.shell, "wrong", mutant.command, seed) for mutant in alive])
        for mutant, (finding, _) in zip(alive, found, strict=True):
            if not finding.passed:
                killed[mutant] = finding.why
    return [Outcome(*mutant, mutant in killed, killed.get(mutant, "")) for mutant in planned]


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


def unexplained(outcomes: Sequence[Outcome], reasons: Reasons) -> list[Outcome]:
    """Survivors without a reason."""
    return [mutant for mutant in outcomes if not mutant.killed and (mutant.task, mutant.command) not in reasons]


def page_of(outcomes: Sequence[Outcome], reasons: Reasons, seeds: Sequence[int]) -> str:
    """docs/mutants.md: a table a task, a table an operator, every survivor with its reason."""
    lines = [_INTRODUCTION, f"Worlds: {', '.join(map(str, seeds))}.", ""]
    for title, key in (("Task", "task"), ("Fault", "operator")):
        lines += [
            f"| {title} | Mutants | Killed | Equivalent | Left out | Unexplained | Share killed |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [_row(name, group, reasons) for name, group in sorted(_grouped(outcomes, key).items())]
        lines += [_row("**all**", list(outcomes), reasons), ""]
    lines += ["## Survivors", ""]
    for task, group in sorted(_grouped([mutant for mutant in outcomes if not mutant.killed], "task").items()):
        by_reason: dict[tuple[Reason | None, str], list[str]] = defaultdict(list)
        for mutant in group:
            by_reason[reasons.get((task, mutant.command)), SHELLS[mutant.shell].lexer].append(mutant.command)
        lines += [f"### {task}", ""]
        for (reason, lexer), commands in by_reason.items():
            said = f"*{reason.kind.capitalize().replace('-', ' ')}.* {reason.text}" if reason else "**Unexplained.**"
            lines += [said, "", f"```{lexer}", *commands, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _grouped(outcomes: Sequence[Outcome], key: str) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for mutant in outcomes:
        groups[getattr(mutant, key)].append(mutant)
    return groups


def _row(name: str, outcomes: Sequence[Outcome], reasons: Reasons) -> str:
    killed = sum(mutant.killed for mutant in outcomes)
    kinds = Counter(reason.kind for f in outcomes if not f.killed and (reason := reasons.get((f.task, f.command))))
    share = killed / max(len(outcomes) - kinds["equivalent"], 1)
    counts = (len(outcomes), killed, kinds["equivalent"], kinds["left-out"], len(outcomes) - killed - kinds.total())
    return f"| {name} | {' | '.join(map(str, counts))} | {share:.0%} |"


def main(task_ids: Sequence[str] = ()) -> int:
    """Execute every mutant, write docs/mutants.md (of all tasks only), print survivors; 1 if one is unexplained."""
    study, reasons = load_study(), read_reasons()
    # The page is published.
    tasks = [task for task in load_tasks(list(task_ids) or ALL) if task_ids or not task.private]
    sandbox = open_sandbox(study.sandbox)
    there = [shell for shell in SHELLS if sandbox.image.shells.get(shell)]
    outcomes = execute(plan_of(tasks, there), tasks, study.seeds, sandbox, limits=study.sandbox.limits)
    if not task_ids:
        write_atomic(PAGE, page_of(outcomes, reasons, study.seeds))
    left = unexplained(outcomes, reasons)
    for mutant in left:
        print(f"survives without a reason: {mutant.task}: {mutant.command}")
    counts = Counter(mutant.killed for mutant in outcomes)
    print(f"{len(outcomes)} mutants: {counts[True]} killed, {counts[False]} survive, {len(left)} of them unexplained")
    return 1 if left else 0
