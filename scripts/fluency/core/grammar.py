"""The commands in a command line, by tree-sitter's grammars, as the shells' own parsers see them.

tree-sitter's PowerShell grammar refuses some valid texts and accepts some invalid ones. A text that does not parse is
tried again with the piece that the grammar does not know overwritten by as many plain characters, so that every name is
still read from the original text at its place; what only PowerShell refuses is looked for in the tree. The tests
compare with recordings of PowerShell's own parser.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import tree_sitter_bash
import tree_sitter_pwsh
from tree_sitter import Language, Node, Parser, Tree

from fluency.core.shells import Condition, Grammar, Shell

MAX_BYTES = 8_000  # error recovery takes time and memory by the square of the length: 4 s and 300 MB at worst
BASH: Grammar = "bash"
POWERSHELL: Grammar = "pwsh"
_LANGUAGES = {BASH: tree_sitter_bash.language, POWERSHELL: tree_sitter_pwsh.language}
_local = threading.local()
# What runs a text, starts another PowerShell or asks what a name stands for: its calls are not all in the tree.
_LOOKS_UP = re.compile(
    r"invoke-?(?:expression|command|script|history)|\b(?:iex|icm|gcm|gal|sal|nal)\b|alias|get-command"
    r"|scriptblock\]|\.ps1\b|\bpwsh\b|powershell",
    re.IGNORECASE,
)


class Call(NamedTuple):
    """A command as it is called: its name as written, its arguments as written less outer quotes."""

    name: str
    arguments: tuple[str, ...]


class Parsed(NamedTuple):
    """What a shell's parser says of a text. `calls` are in order; `functions` are those it defines itself;
    `has_dynamic_calls`: it calls something whose name is known only when it runs.
    """

    parses: bool
    calls: tuple[Call, ...]
    functions: frozenset[str]
    has_dynamic_calls: bool = False


@lru_cache(maxsize=4096)
def parse(grammar: Grammar, command: str) -> Parsed:
    """The commands in a text; never an error.

    Of a text longer than MAX_BYTES only the head is read, and it counts as one that does not parse: no answer to a
    one-line request is as long, and a model that repeats itself would slow down the run.
    """
    source = command.encode("utf-8", errors="replace")
    whole = len(source) <= MAX_BYTES and b"\0" not in source
    parsed = (_parse_pwsh if grammar == POWERSHELL else _parse_bash)(source[:MAX_BYTES])
    return parsed if whole else parsed._replace(parses=False)


def condition_applies(condition: Condition, shell: Shell, command: str) -> bool:
    """Whether a command is run under a condition; where it cannot be told what the command calls, it is."""
    if not condition.only_for_calls:
        return True
    parsed = parse(shell.grammar, command)
    if not parsed.parses or parsed.has_dynamic_calls or _LOOKS_UP.search(command):
        return True
    return any(call.name.lower() in condition.only_for_calls for call in parsed.calls)


def syntax_tree(grammar: Grammar, source: bytes) -> Tree:
    """The tree of a text, as tree-sitter's grammar has it; a parser belongs to one thread."""
    parsers: dict[Grammar, Parser] = _local.__dict__.setdefault("parsers", {})
    if grammar not in parsers:
        parsers[grammar] = Parser(_language(grammar))
    return parsers[grammar].parse(source)


@cache
def _language(grammar: Grammar) -> Language:
    return Language(_LANGUAGES[grammar]())


def _nodes(tree: Tree) -> Iterator[Node]:
    """Every node in the order of the text, without recursion: nesting is the writer's choice."""
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")


def _bare(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


def _parse_bash(source: bytes) -> Parsed:
    tree = syntax_tree(BASH, source)
    calls, functions = [], set()
    for node in _nodes(tree):
        if node.type == "command":
            name = node.child_by_field_name("name")
            if name is not None:
                rest = list(node.children_by_field_name("argument"))
                calls.append(Call(_bare(_text(source, name)), tuple(_bare(_text(source, child)) for child in rest)))
        elif node.type == "test_command" and node.children[0].type == "[":
            calls.append(Call("[", ()))
        elif node.type in ("declaration_command", "unset_command"):
            calls.append(Call(_text(source, node.children[0]), ()))
        elif node.type == "function_definition":
            functions.add(_text(source, node.child_by_field_name("name") or node))
    return Parsed(not tree.root_node.has_error, tuple(calls), frozenset(functions))


_STRING = rb"'[^']*'|\"(?:[^\"`]|`.)*\""  # a doubled quote reads as two strings side by side
_ATTACHED = rb"(?<![^\s|;({])--?[A-Za-z][\w-]*(?:=|\b)(?:'[^']*'|\"[^\"`$]*\"|[\w:]*,\w+)+(?![^\s|;)}&])"
_GAPS = re.compile(
    rb"(?P<attached>" + _ATTACHED + rb")"
    rb"|(?P<string>" + _STRING + rb")"
    rb"|(?P<operator>-[ci](?:not)?in\b|-[ci]join\b)"
    rb"|(?P<typed>\[[\w.]+\](?=\$\w+ *[-+*/%]=))"
    rb"|(?P<item>(?<=[)}]) *, *(?P<bare>[A-Za-z_][\w*.?-]*)(?=[\s|;)}]|$))"
    rb"|(?P<clause>(?<=\}) (?=['\"{\d]|default\b|(?!else|elseif|catch|finally|while|until)[A-Za-z]+ \{))"
    rb"|(?P<lone>(?<=[\w'\"*)}/.] )[+!](?=[ |;]|$))",
    re.DOTALL,
)
_KEYWORD = re.compile(rb"(?<![^\s;&|{}()])(for|foreach|if|while|do|elif|until|switch)(?=\s+[^\s({-])")
_BRACKET = re.compile(rb"(?<![^\s;&|{}()])\[(?=\s)")
_BAD_VARIABLE = re.compile(rb"(?<!`)\$[A-Za-z_]\w*:(?![\w:{])")


def _parse_pwsh(source: bytes) -> Parsed:
    tree = syntax_tree(POWERSHELL, source)
    parses = not tree.root_node.has_error
    if not parses:
        patched = _GAPS.sub(_patch_grammar_gap, source)
        again = syntax_tree(POWERSHELL, patched)
        parses = not again.root_node.has_error
        tree = again if parses else syntax_tree(POWERSHELL, _parse_past_error(patched))
    calls, functions, hidden = [], set(), False
    for node in _nodes(tree):
        if node.type in ("command_name", "command_name_expr"):
            if node.parent is not None and node.parent.type == "command_name_expr":
                continue
            name = _called(source, node)
            if name is not None:
                calls.append(Call(name, _arguments(source, node.parent)))
            elif not _text(source, node).startswith("{"):
                hidden = True
        elif node.type == "function_name":
            functions.add(_text(source, node))
        elif parses and _rejected_by_powershell(source, node):
            parses = False
    return Parsed(parses, tuple(calls), frozenset(functions), hidden)


def _patch_grammar_gap(found: re.Match[bytes]) -> bytes:
    """As many bytes that the grammar takes for the same thing."""
    piece = found[0]
    if found["string"] is not None:
        return piece
    if found["operator"] is not None:
        return b"-eq".ljust(len(piece))
    if found["typed"] is not None:
        return b" " * len(piece)
    if found["item"] is not None:
        return piece[: -len(found["bare"])] + b"1" * len(found["bare"])
    if found["lone"] is not None:
        return b"x"
    if found["clause"] is not None:
        return b"\n" if b"switch" in found.string[: found.start()].lower() else piece
    return piece[:2] + b"x" * (len(piece) - 2)


def _parse_past_error(source: bytes) -> bytes:
    """What PowerShell's parser goes on with after the error: past a keyword without its parenthesis, `[` as a name."""
    return _BRACKET.sub(b"x", _KEYWORD.sub(lambda found: b" " * len(found[0]), source))


def _called(source: bytes, node: Node) -> str | None:
    """A command's name if it is written out; None if only running it would tell (`& $x`, `& "$p/x"`, `& { … }`)."""
    text = _text(source, node)
    if node.type == "command_name":
        return text
    bare = _bare(text)
    if text[:1] in "$({@" or (text[:1] == '"' and "$" in text):
        return None
    return bare


def _arguments(source: bytes, command: Node | None) -> tuple[str, ...]:
    elements = command.child_by_field_name("command_elements") if command is not None else None
    if elements is None:
        return ()
    return tuple(_bare(_text(source, child)) for child in elements.children if child.type != "command_argument_sep")


def _rejected_by_powershell(source: bytes, node: Node) -> bool:
    """What the grammar takes and PowerShell does not: `<`, and `$name:` with nothing after it inside a string."""
    if node.type == "file_redirection_operator":
        return _text(source, node) == "<"
    if node.type == "expandable_string_literal":
        return bool(_BAD_VARIABLE.search(source, node.start_byte, node.end_byte))
    return False
