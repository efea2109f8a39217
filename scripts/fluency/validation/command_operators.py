"""Mutation operators for a command in Bash's grammar, each a small fault that a check must notice.

drop-flag        an argument that begins with `-` is left out, alone or with the value after it; a letter of a cluster
flip-comparison  `==` and `!=`, `<` and `>=`, `-nt` and `-ot`, `+N` and `-N` and the like change places
change-number    a number anywhere, also inside a program for awk, sed or jq, becomes one more or one less
drop-stage       a stage of a pipeline, or a side of `&&` or `||`, is left out
drop-negation    `!` and `| not` are left out
drop-anchor      `^` at the start or `$` at the end of a pattern is left out
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from fluency.core.grammar import BASH, syntax_tree

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
                yield from (_Edit("flip-comparison", node.start_byte, node.end_byte, other) for other in others)
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
    """Leave out each part of a pipeline or list together with one separator beside it."""
    parts = [child for child in node.children if child.type not in separators]
    for place, part in enumerate(parts):
        if place + 1 < len(parts):
            yield _Edit(operator, part.start_byte, parts[place + 1].start_byte, "")
        elif place:
            yield _Edit(operator, parts[place - 1].end_byte, part.end_byte, "")


def _flipped(node: Node, text: str) -> Iterator[_Edit]:
    for child in node.children:
        if child.type in ("&&", "||"):
            yield _Edit("flip-comparison", child.start_byte, child.end_byte, "||" if child.type == "&&" else "&&")


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
                yield from (_Edit("flip-comparison", at(match.start()), at(match.end()), other) for other in others)
        for match in re.finditer(r"\s*\| not\b", text):
            yield _Edit("drop-negation", at(match.start()), at(match.end()), "")
