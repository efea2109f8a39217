"""Mutants of the reference commands, and which of them the checks notice: `make mutants`."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import yaml
from tree_sitter import Node

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.grammar import BASH, syntax_tree
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, read_study
from fluency.core.tasks import ALL, Task, load_tasks
from fluency.execution.sandbox import Sandbox, open_sandbox
from fluency.validation.probes import Probe, Prober

_URL = re.compile(r"https?://[0-9.:]+")
_NUMBER = re.compile(r"\d+")
_CLUSTER = re.compile(r"-[A-Za-z]{2,4}")
_SIGNED = re.compile(r"[+-]\d+c?")
# Each operator and what it is mistaken for; longer ones first, so that `>=` is not read as `>`.
_FLIPS = (
    ("==", ("!=",)),
    ("!=", ("==", ">")),
    (">=", (">", "<")),
    ("<=", ("<", ">")),
    (" > ", (" >= ", " < ")),
    (">1", (">=1", "<1")),
    (" and ", (" or ",)),
    (" && ", (" || ",)),
    ("(-.", ("(.",)),
    ("-gt", ("-ge", "-lt")),
    ("-nt", ("-ot",)),
    ("-ot", ("-nt",)),
    ("-f", ("-d",)),
)
_TESTS = {"-gt", "-nt", "-ot", "-f"}
_ANCHOR = re.compile(r"(?<=[/'|])\^|\$(?=[/'])")
_LONG_FLAGS = {"find", "jq"}


class Mutant(NamedTuple):
    """A command with one fault, and which kind of fault it is."""

    operator: str
    command: str


class _Edit(NamedTuple):
    operator: str
    start: int
    end: int
    text: str


def mutants(command: str) -> list[Mutant]:
    """Every command that differs from this one by one fault, in order of place, each once."""
    source = command.encode()
    edits = set(_edits(syntax_tree(BASH, source).root_node, source))
    found: dict[str, str] = {}
    for edit in sorted(edits, key=lambda e: (e.start, e.end, e.operator, e.text)):
        mutant = (source[: edit.start] + edit.text.encode() + source[edit.end :]).decode().strip()
        if mutant and mutant != command:
            found.setdefault(mutant, edit.operator)
    return [Mutant(operator, mutant) for mutant, operator in found.items()]


def _edits(node: Node, source: bytes) -> Iterator[_Edit]:
    yield from _of_node(node, source)
    for child in node.children:
        yield from _edits(child, source)


def _of_node(node: Node, source: bytes) -> Iterator[_Edit]:
    text = source[node.start_byte : node.end_byte].decode()
    if node.type == "command":
        yield from _flags(node, source)
    elif node.type == "pipeline":
        yield from _parts(node, ("|", "|&"), "drop-stage")
    elif node.type == "list":
        yield from _parts(node, ("&&", "||"), "drop-stage")
        yield from _flipped(node, text)
    elif node.type == "test_operator":
        for old, others in _FLIPS:
            if old == text and old in _TESTS:
                yield from (
                    _Edit("flip-comparison", node.start_byte, node.end_byte, other)
                    for other in others
                )
    elif node.type == "!":
        yield _Edit("drop-negation", node.start_byte, node.end_byte, "")
    elif node.type in ("raw_string", "string_content", "word", "number"):
        yield from _inside(node, text)


def _flags(command: Node, source: bytes) -> Iterator[_Edit]:
    """Leave out a flag, the flag and its value, or one letter of several."""
    name = source[command.start_byte : command.end_byte].decode().split()[0]
    arguments = [child for child in command.children if child.type != "command_name"]
    for place, argument in enumerate(arguments):
        text = source[argument.start_byte : argument.end_byte].decode()
        if not text.startswith("-") or len(text) < 2:
            continue
        yield _Edit("drop-flag", argument.start_byte, argument.end_byte, "")
        after = arguments[place + 1] if place + 1 < len(arguments) else None
        if after is not None and not source[after.start_byte : after.end_byte].startswith(b"-"):
            yield _Edit("drop-flag", argument.start_byte, after.end_byte, "")
        if _CLUSTER.fullmatch(text) and name not in _LONG_FLAGS:
            for letter in range(1, len(text)):
                shorter = text[:letter] + text[letter + 1 :]
                yield _Edit("drop-flag", argument.start_byte, argument.end_byte, shorter)


def _parts(node: Node, separators: tuple[str, ...], operator: str) -> Iterator[_Edit]:
    """Leave out each part of a pipeline or list together with one separator next to it."""
    parts = [child for child in node.children if child.type not in separators]
    for place, part in enumerate(parts):
        if place + 1 < len(parts):
            yield _Edit(operator, part.start_byte, parts[place + 1].start_byte, "")
        elif place:
            yield _Edit(operator, parts[place - 1].end_byte, part.end_byte, "")


def _flipped(node: Node, text: str) -> Iterator[_Edit]:
    for child in node.children:
        if child.type in ("&&", "||"):
            yield _Edit(
                "flip-comparison",
                child.start_byte,
                child.end_byte,
                "||" if child.type == "&&" else "&&",
            )


def _inside(node: Node, text: str) -> Iterator[_Edit]:
    """Numbers and comparisons within a word or a quoted program; the address of a URL is left alone."""
    urls = [match.span() for match in _URL.finditer(text)]
    start = node.start_byte

    def at(offset: int) -> int:
        return start + len(text[:offset].encode())

    for match in _NUMBER.finditer(text):
        if any(low <= match.start() < high for low, high in urls):
            continue
        number = int(match[0])
        for other in {number + 1, max(number - 1, 0)} - {number}:
            changed = str(other).zfill(len(match[0]) if match[0].startswith("0") else 0)
            yield _Edit("change-number", at(match.start()), at(match.end()), changed)
    if _SIGNED.fullmatch(text):
        yield _Edit("flip-comparison", start, start + 1, "-" if text[0] == "+" else "+")
    if text.startswith("--") and "=-" in text:
        place = text.index("=-") + 1
        yield _Edit("flip-comparison", at(place), at(place + 1), "")
    if node.type == "raw_string":
        for match in _ANCHOR.finditer(text):
            yield _Edit("drop-anchor", at(match.start()), at(match.end()), "")
        taken: set[int] = set()
        for old, others in _FLIPS:
            if old in _TESTS:
                continue
            for match in re.finditer(re.escape(old), text):
                if match.start() in taken:
                    continue
                taken |= set(range(*match.span()))
                yield from (
                    _Edit("flip-comparison", at(match.start()), at(match.end()), other)
                    for other in others
                )
        for match in re.finditer(r"\s*\| not\b", text):
            yield _Edit("drop-negation", at(match.start()), at(match.end()), "")


REASONS = ROOT / "tests" / "data" / "mutant_survivors.yaml"
PAGE = Path(__file__).with_suffix(".md")
_INTRODUCTION = """# Mutants of the reference commands

Each Bash reference of the task bank gets one small fault at a time: a flag dropped, a comparison flipped, a number
changed, a stage of the pipeline, a negation or an anchor removed. Every mutant runs in both worlds and is judged like
an answer. It is *killed* if it fails in at least one world. A survivor is *equivalent* if no output could distinguish
it from the reference. It is *left out* if only a world that is excluded on purpose could distinguish it: mostly
because the prompt does not decide the case, in the demanding tasks also because PowerShell's references were not
proven in such a world. Any other survivor shows that a world lacks a trap, which is then added.
The share killed is of the mutants that are not equivalent.

`make mutants` writes this page. The reasons are in `tests/data/mutant_survivors.yaml`.
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
                found.setdefault(
                    (task.id, shell, command), Planned(task.id, shell, operator, command)
                )
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
        found = prober.all(
            [Probe(mutant.task, mutant.shell, "wrong", mutant.command, seed) for mutant in alive]
        )
        for mutant, finding in zip(alive, found, strict=True):
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
    return [
        mutant
        for mutant in outcomes
        if not mutant.killed and (mutant.task, mutant.command) not in reasons
    ]


def page_of(outcomes: Sequence[Outcome], reasons: Reasons, seeds: Sequence[int]) -> str:
    """The results: a table by task, a table by operator, every survivor with its reason."""
    lines = [_INTRODUCTION, f"Worlds: {', '.join(map(str, seeds))}.", ""]
    for title, key in (("Task", "task"), ("Fault", "operator")):
        lines += [
            f"| {title} | Mutants | Killed | Equivalent | Left out | Unexplained | Share killed |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        lines += [
            _row(name, group, reasons) for name, group in sorted(_grouped(outcomes, key).items())
        ]
        lines += [_row("**all**", list(outcomes), reasons), ""]
    lines += ["## Survivors", ""]
    for task, group in sorted(
        _grouped([mutant for mutant in outcomes if not mutant.killed], "task").items()
    ):
        by_reason: dict[tuple[Reason | None, str], list[str]] = defaultdict(list)
        for mutant in group:
            by_reason[reasons.get((task, mutant.command)), SHELLS[mutant.shell].lexer].append(
                mutant.command
            )
        lines += [f"### {task}", ""]
        for (reason, lexer), commands in by_reason.items():
            why = (
                f"*{reason.kind.capitalize().replace('-', ' ')}.* {reason.text}"
                if reason
                else "**Unexplained.**"
            )
            lines += [why, "", f"```{lexer}", *commands, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _grouped(outcomes: Sequence[Outcome], key: str) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for mutant in outcomes:
        groups[getattr(mutant, key)].append(mutant)
    return groups


def _row(name: str, outcomes: Sequence[Outcome], reasons: Reasons) -> str:
    killed = sum(mutant.killed for mutant in outcomes)
    kinds = Counter(
        reason.kind
        for f in outcomes
        if not f.killed and (reason := reasons.get((f.task, f.command)))
    )
    share = killed / max(len(outcomes) - kinds["equivalent"], 1)
    counts = (
        len(outcomes),
        killed,
        kinds["equivalent"],
        kinds["left-out"],
        len(outcomes) - killed - kinds.total(),
    )
    return f"| {name} | {' | '.join(map(str, counts))} | {share:.0%} |"


def main(task_ids: Sequence[str] = ()) -> int:
    """Execute every mutant, write the results (of all tasks only), print survivors; 1 if one is unexplained."""
    study, reasons = read_study(), read_reasons()
    # The page is published.
    tasks = [task for task in load_tasks(list(task_ids) or ALL) if task_ids or not task.private]
    sandbox = open_sandbox(study.sandbox)
    there = [shell for shell in SHELLS if sandbox.image.shells.get(shell)]
    outcomes = execute(
        plan_of(tasks, there), tasks, study.seeds, sandbox, limits=study.sandbox.limits
    )
    if not task_ids:
        write_atomic(PAGE, page_of(outcomes, reasons, study.seeds))
    left = unexplained(outcomes, reasons)
    for mutant in left:
        print(f"survives without a reason: {mutant.task}: {mutant.command}")
    counts = Counter(mutant.killed for mutant in outcomes)
    print(
        f"{len(outcomes)} mutants: {counts[True]} killed, {counts[False]} survive, {len(left)} of them unexplained"
    )
    return 1 if left else 0


if __name__ == "__main__":
    raise SystemExit(main())
