"""Mutants of the reference commands, and which of them the checks notice: `make mutants`."""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, TypeAdapter
from tree_sitter import Node

from fluency.cli import exit_code_of
from fluency.common.files import write_atomic
from fluency.common.paths import CACHE, ROOT
from fluency.core.config_files import read_yaml
from fluency.core.dialects.tree import syntax_tree
from fluency.core.grammar import BASH, DIALECTS, POWERSHELL
from fluency.core.shells import SHELLS, Grammar
from fluency.core.study import read_study
from fluency.core.tasks import ALL, Task, load_tasks, task_sets
from fluency.execution.sandbox import open_sandbox
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
_PWSH_ANCHOR = re.compile(r"(?<=['|(])\^|\$(?=['|)])")
_LONG_FLAGS = {"find", "jq"}
_OPPOSITES = (
    "eq ne",
    "match notmatch",
    "like notlike",
    "in notin",
    "contains notcontains",
    "and or",
    "first last",
)
_PWSH_FLIPS = {
    one: [other] for pair in _OPPOSITES for one, other in itertools.permutations(pair.split())
} | {"gt": ["ge", "lt"], "ge": ["gt", "lt"], "lt": ["le", "gt"], "le": ["lt", "gt"]}
"""PowerShell's operators and parameters, and what each is mistaken for."""
_CASED = re.compile(r"-c(?=eq|ne|[gl][te]|(?:not)?(?:match|like|in|contains)|replace|split)")
_PWSH_TEXTS = {
    "verbatim_string_characters",
    "expandable_string_literal",
    "decimal_integer_literal",
    "real_literal",
    "generic_token",
}


class _Edit(NamedTuple):
    operator: str
    start: int
    end: int
    text: str


def mutants(command: str, grammar: Grammar = BASH) -> dict[str, str]:
    """Each command that differs from this one by one fault, by place -> the kind of fault."""
    source = command.encode()
    faults = _faults_in_powershell if grammar == POWERSHELL else _faults_in_bash
    edits = {
        edit
        for node in _nodes(syntax_tree(DIALECTS[grammar].LANGUAGE, source).root_node)
        for edit in faults(node)
    }
    found: dict[str, str] = {}
    for edit in sorted(edits, key=lambda e: (e.start, e.end, e.operator, e.text)):
        mutant = (source[: edit.start] + edit.text.encode() + source[edit.end :]).decode().strip()
        if mutant and mutant != command:
            found.setdefault(mutant, edit.operator)
    return found


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _changed(node: Node, operator: str, texts: Iterable[str]) -> Iterator[_Edit]:
    return (_Edit(operator, node.start_byte, node.end_byte, text) for text in texts)


def _faults_in_bash(node: Node) -> Iterator[_Edit]:
    text = _text(node)
    if node.type == "command":
        yield from _bash_flags(node)
    elif node.type == "pipeline":
        yield from _parts(node, ("|", "|&"), "drop-stage")
    elif node.type == "list":
        yield from _parts(node, ("&&", "||"), "drop-stage")
        for child in node.children:
            others = {"&&": ["||"], "||": ["&&"]}.get(child.type, [])
            yield from _changed(child, "flip-comparison", others)
    elif node.type == "test_operator" and text in _TESTS:
        yield from _changed(node, "flip-comparison", dict(_FLIPS)[text])
    elif node.type == "!":
        yield from _changed(node, "drop-negation", [""])
    elif node.type in ("raw_string", "string_content", "word", "number"):
        yield from _numbers(node)
        yield from _in_text(node)


def _faults_in_powershell(node: Node) -> Iterator[_Edit]:
    text = _text(node).lower()
    if node.type == "command_elements":
        words = [child for child in node.children if child.type != "command_argument_sep"]
        yield from _drop_flags(words, _is_parameter)
    elif node.type == "pipeline_chain":
        yield from _parts(node, ("|",), "drop-stage")
    elif node.type in ("comparison_operator", "command_parameter", "-and", "-or"):
        others = [f"-{other}" for other in _PWSH_FLIPS.get(text[1:], ())]
        if cased := _CASED.match(text):
            plain = text[cased.end() :]
            others = [f"-c{other}" for other in _PWSH_FLIPS.get(plain, ())]
            yield from _changed(node, "ignore-case", [f"-{plain}"])
        yield from _changed(node, "flip-comparison", others)
    elif node.type in ("-not", "!"):
        yield from _changed(node, "drop-negation", [""])
    elif node.type in _PWSH_TEXTS:
        yield from _numbers(node)
        if node.type == "verbatim_string_characters":
            for match in _PWSH_ANCHOR.finditer(_text(node)):
                yield _within(node, "drop-anchor", match.span(), "")


def _drop_flags(words: Sequence[Node], is_flag: Callable[[str], bool]) -> Iterator[_Edit]:
    """Leave out each flag, and each flag with its value."""
    for word, after in itertools.zip_longest(words, words[1:]):
        if is_flag(_text(word)):
            yield _Edit("drop-flag", word.start_byte, word.end_byte, "")
            if after is not None and not _text(after).startswith("-"):
                yield _Edit("drop-flag", word.start_byte, after.end_byte, "")


def _is_parameter(text: str) -> bool:
    """PowerShell's operators are flipped instead."""
    name = text[1:].lower()
    return text[0] == "-" and name not in _PWSH_FLIPS and not _CASED.match(f"-{name}")


def _bash_flags(command: Node) -> Iterator[_Edit]:
    """Leave out flags, and single letters of several in one word."""
    name = _text(command).split()[0]
    arguments = [child for child in command.children if child.type != "command_name"]
    yield from _drop_flags(arguments, lambda text: text.startswith("-") and len(text) > 1)
    for argument in arguments if name not in _LONG_FLAGS else ():
        if _CLUSTER.fullmatch(text := _text(argument)):
            shorter = (text[:letter] + text[letter + 1 :] for letter in range(1, len(text)))
            yield from _changed(argument, "drop-flag", shorter)


def _parts(node: Node, separators: tuple[str, ...], operator: str) -> Iterator[_Edit]:
    """Leave out each part of a pipeline or list together with one separator next to it."""
    parts = [child for child in node.children if child.type not in separators]
    for place, part in enumerate(parts):
        if place + 1 < len(parts):
            yield _Edit(operator, part.start_byte, parts[place + 1].start_byte, "")
        elif place:
            yield _Edit(operator, parts[place - 1].end_byte, part.end_byte, "")


def _within(node: Node, operator: str, span: tuple[int, int], text: str) -> _Edit:
    """An edit of a part of a node's text, given in characters."""
    low, high = (len(_text(node)[:offset].encode()) for offset in span)
    return _Edit(operator, node.start_byte + low, node.start_byte + high, text)


def _numbers(node: Node) -> Iterator[_Edit]:
    """Change each number within a word or a quoted text by one, except in the address of a URL."""
    text = _text(node)
    urls = [match.span() for match in _URL.finditer(text)]
    for match in _NUMBER.finditer(text):
        if any(low <= match.start() < high for low, high in urls):
            continue
        number = int(match[0])
        for other in {number + 1, max(number - 1, 0)} - {number}:
            changed = str(other).zfill(len(match[0]) if match[0].startswith("0") else 0)
            yield _within(node, "change-number", match.span(), changed)


def _in_text(node: Node) -> Iterator[_Edit]:
    """Signs of a number or a sort key; comparisons, anchors and negations of a quoted program."""
    text = _text(node)
    if _SIGNED.fullmatch(text):
        yield _within(node, "flip-comparison", (0, 1), "-" if text[0] == "+" else "+")
    if text.startswith("--") and "=-" in text:
        place = text.index("=-") + 1
        yield _within(node, "flip-comparison", (place, place + 1), "")
    if node.type != "raw_string":
        return
    for match in _ANCHOR.finditer(text):
        yield _within(node, "drop-anchor", match.span(), "")
    taken: set[int] = set()
    for old, others in _FLIPS:
        for match in re.finditer(re.escape(old), text):
            if old in _TESTS or match.start() in taken:
                continue
            taken |= set(range(*match.span()))
            for other in others:
                yield _within(node, "flip-comparison", match.span(), other)
    for match in re.finditer(r"\s*\| not\b", text):
        yield _within(node, "drop-negation", match.span(), "")


REASONS = ROOT / "tests" / "data" / "mutant_survivors.yaml"
_EXPLANATION = """\
Each Bash reference, or the first PowerShell reference of each task, gets one small fault at a time:
a flag dropped, a comparison flipped, a number changed, case ignored, a stage of the pipeline, a
negation or an anchor removed. Every mutant is judged like an answer and is *killed* if it fails in
at least one world. A survivor is *equivalent* if no output could distinguish it from the reference.
It is *left out* if a trap could that no world holds: the prompt does not decide the case, such data
are not written, or the trap is still missing. The kill rate is of the mutants that are not
equivalent. A task whose references have nothing to change has no mutants.

Survivors and their reasons are in `tests/data/mutant_survivors.yaml`. `make mutants` writes this
page; `make mutants TASK=id` prints the survivors of one task.
"""


def page_path(shell: str) -> Path:
    """The page with the results of a shell."""
    return Path(__file__).with_name(f"command_mutants_{shell}.md")


class Mutant(NamedTuple):
    """A reference of a task with one fault, and which kind of fault it is."""

    task: str
    shell: str
    operator: str
    command: str


def plan_of(tasks: Sequence[Task], shells: Iterable[str] = SHELLS) -> list[Mutant]:
    """The mutants of the references, each once; a mutant that is a reference itself is left out.

    A PowerShell execution takes three times as long as a Bash one, so only the first reference of
    each task is mutated there.
    """
    found: dict[tuple[str, str, str], Mutant] = {}
    for task, shell in itertools.product(tasks, shells):
        grammar, references = SHELLS[shell].grammar, task.references.get(shell, [])
        if grammar is None:
            continue
        for reference in references[:1] if grammar == POWERSHELL else references:
            for command, operator in mutants(reference, grammar).items():
                if command not in references:
                    mutant = Mutant(task.id, shell, operator, command)
                    found.setdefault((task.id, shell, command), mutant)
    return list(found.values())


def survivors_of(planned: Sequence[Mutant], prober: Prober, seeds: Sequence[int]) -> list[Mutant]:
    """The mutants that pass in every world; a killed one does not run in the next world."""
    alive = list(planned)
    for seed in seeds:
        probes = [Probe(m.task, m.shell, "wrong", m.command, seed) for m in alive]
        alive = [m for m, found in zip(alive, prober.all(probes), strict=True) if found.passed]
    return alive


Kind = Literal["equivalent", "left-out"]


class _Group(BaseModel, extra="forbid"):
    kind: Kind
    reason: str
    mutants: list[str]


def read_kinds() -> dict[tuple[str, str], Kind]:
    """Which kind of survivor a mutant is, by task and command."""
    groups = TypeAdapter(dict[str, list[_Group]]).validate_python(read_yaml(REASONS))
    return {
        (task, command): group.kind
        for task, found in groups.items()
        for group in found
        for command in group.mutants
    }


def page_of(
    planned: Sequence[Mutant],
    survivors: Collection[Mutant],
    kinds: dict[tuple[str, str], Kind],
    seeds: Sequence[int],
) -> str:
    """The results by set, fault and task."""
    title = " and ".join(sorted({SHELLS[mutant.shell].title for mutant in planned}))
    sets = {}
    for name, found in task_sets().items():
        group = [mutant for mutant in planned if mutant.task in found.tasks]
        mutated = len({mutant.task for mutant in group})
        sets[f"{name} ({mutated} of {len(found.tasks)} tasks)"] = group

    def table(name: str, groups: dict[str, list[Mutant]]) -> list[str]:
        return [
            f"| {name} | Mutants | Killed | Equivalent | Left out | Unexplained | Kill rate |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *(row(name, group) for name, group in sorted(groups.items()) if group),
            "",
        ]

    def row(name: str, group: Sequence[Mutant]) -> str:
        alive = [mutant for mutant in group if mutant in survivors]
        of = Counter(kinds.get((mutant.task, mutant.command)) for mutant in alive)
        killed = len(group) - len(alive)
        counts = (len(group), killed, of["equivalent"], of["left-out"], of[None])
        rate = killed / max(len(group) - of["equivalent"], 1)
        return f"| {name} | {' | '.join(map(str, counts))} | {rate:.0%} |"

    return "\n".join(
        (
            f"# Mutants of the {title} references, in worlds {' and '.join(map(str, seeds))}",
            "",
            *table("Set", sets),
            _EXPLANATION,
            *table("Fault", _by("operator", planned)),
            *table("Task", _by("task", planned)),
        )
    )


def _by(field: str, planned: Sequence[Mutant]) -> dict[str, list[Mutant]]:
    groups: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in planned:
        groups[getattr(mutant, field)].append(mutant)
    return groups


def main(names: Sequence[str] = ()) -> int:
    """Execute every mutant, write a page a shell, print survivors; 1 if one is unexplained.

    `names` are shells and tasks; by default all that the image and the bank hold. With tasks no
    page is written.
    """
    study, kinds = read_study(), read_kinds()
    shells = [name for name in names if name in SHELLS] or SHELLS
    wanted = [name for name in names if name not in SHELLS]
    tasks = [task for task in load_tasks(wanted or ALL) if wanted or not task.private]
    sandbox = open_sandbox(study.sandbox)
    prober = Prober(sandbox, tasks, study.sandbox.limits, CACHE / "mutants")
    left: list[Mutant] = []
    for shell in itertools.filterfalse(sandbox.why_missing, shells):
        planned = plan_of(tasks, [shell])
        survivors = survivors_of(planned, prober, study.seeds)
        if not wanted:
            write_atomic(page_path(shell), page_of(planned, set(survivors), kinds, study.seeds))
        unexplained = [m for m in survivors if (m.task, m.command) not in kinds]
        left += unexplained
        print(
            f"{SHELLS[shell].title}: {len(planned)} mutants, {len(survivors)} survive, "
            f"{len(unexplained)} of them unexplained"
        )
    for mutant in left:
        print(f"survives without a reason: {mutant.task}: {mutant.command}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(exit_code_of(lambda: main(sys.argv[1:])))
