"""The commands in a command line, by tree-sitter's grammars, as the shells' own parsers see them.

tree-sitter's PowerShell grammar rejects some texts that PowerShell accepts, and accepts some that
it rejects. Both are corrected here without changing the grammar. A text that does not parse is
parsed again with the part that the grammar does not know overwritten by as many plain characters,
so that names are still read from the original text at the same place. What only PowerShell rejects
is looked for in the tree. The tests compare with recordings of PowerShell's parser.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import tree_sitter_bash
import tree_sitter_pwsh
from tree_sitter import Language, Node, Parser, Tree

from fluency.core.shells import Condition, Grammar, Shell

# tree-sitter's recovery from errors takes time by the square of the length: a minute for 8,000
# bytes. References and recorded answers take 2,000 steps at most, 8,000 bytes without an error
# about 45,000.
MAX_BYTES = 8_000
MAX_HUNDREDS_OF_STEPS = 2_000
BASH: Grammar = "bash"
POWERSHELL: Grammar = "pwsh"
_LANGUAGES = {BASH: tree_sitter_bash.language, POWERSHELL: tree_sitter_pwsh.language}
# Runs a text, starts another PowerShell or asks what a name stands for: then not all of the calls
# are in the tree.
_LOOKS_UP = re.compile(
    r"invoke-?(?:expression|command|script|history)|\b(?:iex|icm|gcm|gal|sal|nal)\b|alias"
    r"|get-command|scriptblock\]|\.ps1\b|\bpwsh\b|powershell",
    re.IGNORECASE,
)


class Call(NamedTuple):
    """A command as it is called: its name, and its arguments less outer quotes, as written."""

    name: str
    arguments: tuple[str, ...]


class Parsed(NamedTuple):
    """What a text is to a shell's parser."""

    parses: bool  # whether the parser accepts it
    calls: tuple[Call, ...]  # in order
    functions: frozenset[str]  # that it defines
    has_dynamic_calls: bool = False  # calls something whose name is known only when it runs


class TooManySteps(Exception):
    """The parser was stopped: recovering from the errors of a text would take too long."""


@lru_cache(maxsize=4096)
def parse(grammar: Grammar, command: str) -> Parsed:
    """The commands in a text; never an error.

    A text longer than MAX_BYTES counts as one that does not parse, and only its head is read: no
    answer to a one-line request is that long, and a model that repeats itself must not delay the
    run. A text that takes the parser too many steps does not parse either, and has no calls.
    """
    source = command.encode("utf-8", errors="replace")
    whole = len(source) <= MAX_BYTES and b"\0" not in source
    try:
        parsed = (_parse_pwsh if grammar == POWERSHELL else _parse_bash)(source[:MAX_BYTES])
    except TooManySteps:
        return Parsed(False, (), frozenset())
    return parsed if whole else parsed._replace(parses=False)


def condition_applies(condition: Condition, shell: Shell, command: str) -> bool:
    """Whether a command is run under a condition: it calls, or may call, a name that it changes."""
    if not condition.only_for_calls:
        return True
    parsed = parse(shell.grammar, command)
    if not parsed.parses or parsed.has_dynamic_calls or _LOOKS_UP.search(command):
        return True
    return any(call.name.lower() in condition.only_for_calls for call in parsed.calls)


def syntax_tree(grammar: Grammar, source: bytes) -> Tree:
    """tree-sitter's tree of a text; TooManySteps if it has too many errors."""
    calls = itertools.count(1)
    # A new parser each time: one belongs to one thread, and would go on with a text it gave up.
    parser = Parser(_language(grammar))
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + 4_096],
            # Called once in a hundred steps.
            progress_callback=lambda *_: next(calls) > MAX_HUNDREDS_OF_STEPS,
        )
    except ValueError:  # "Parsing failed", after that callback has said so
        raise TooManySteps from None


@cache
def _language(grammar: Grammar) -> Language:
    return Language(_LANGUAGES[grammar]())


def _nodes(tree: Tree) -> Iterator[tuple[Node, Node | None]]:
    """Every node with its parent, in the order of the text.

    Without recursion, since nesting may be deep; and without `Node.parent`, which searches for the
    node from the root and takes too long in a long text.
    """
    stack: list[tuple[Node, Node | None]] = [(tree.root_node, None)]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack.extend((child, node) for child in reversed(node.children))


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")


def _bare(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


def _parse_bash(source: bytes) -> Parsed:
    tree = syntax_tree(BASH, source)
    calls, functions = [], set()
    for node, _ in _nodes(tree):
        if node.type == "command":
            name = node.child_by_field_name("name")
            if name is not None:
                rest = node.children_by_field_name("argument")
                called, *arguments = (_bare(_text(source, part)) for part in (name, *rest))
                calls.append(Call(called, tuple(arguments)))
        elif node.type == "test_command" and node.children[0].type == "[":
            calls.append(Call("[", ()))
        elif node.type in ("declaration_command", "unset_command"):
            calls.append(Call(_text(source, node.children[0]), ()))
        elif node.type == "function_definition":
            functions.add(_text(source, node.child_by_field_name("name") or node))
    return Parsed(not tree.root_node.has_error, tuple(calls), frozenset(functions))


# ---------------------------------------------------------------- PowerShell
# Possessive repeats keep these linear.
_STRING = rb"'[^']*+'|\"(?:[^\"`]++|`.)*+\"|`."  # a doubled quote reads as two strings side by side
_LIST = rb"[\w:]*+(?:,\w++(?::[\w:]*+(?=,))?+)++"  # the rest of -opid,ppid and -k1,1:2,2
_ATTACHED = (
    rb"(?<![^\s|;({])--?[A-Za-z][\w-]*+(?:=|\b)(?:'[^']*+'|\"[^\"`$]*+\"|"
    + _LIST
    + rb")++(?![^\s|;)}&])"
)
_GAPS = re.compile(
    rb"(?P<attached>" + _ATTACHED + rb")"
    rb"|(?P<string>" + _STRING + rb")"
    rb"|(?P<operator>-[ci](?:not)?in\b|-[ci]join\b)"
    rb"|(?P<item>(?<=[)}]) *, *(?P<bare>[A-Za-z_][\w*.?-]*+)(?=[\s|;)}]|$))"
    rb"|(?P<clause>(?<=\}) (?=['\"{\d]|default\b"
    rb"|(?!else|elseif|catch|finally|while|until)[A-Za-z]+ \{))"
    rb"|(?P<lone>(?<=[\w'\"*)}/.] )[+!](?=[ |;]|$))",
    re.DOTALL,
)
_BAD_VARIABLE = re.compile(rb"(?<!`)\$[A-Za-z_]\w*:(?![\w:{])")


def _parse_pwsh(source: bytes) -> Parsed:
    tree = syntax_tree(POWERSHELL, source)
    parses = not tree.root_node.has_error
    if not parses:
        patched = _GAPS.sub(_patch_grammar_gap, source)
        tree = tree if patched == source else syntax_tree(POWERSHELL, patched)
        parses = not tree.root_node.has_error
    calls, functions, dynamic = [], set(), False
    for node, parent in _nodes(tree):
        if node.type in ("command_name", "command_name_expr"):
            if parent is not None and parent.type == "command_name_expr":
                continue
            if (name := _called(source, node)) is not None:
                calls.append(Call(name, _arguments(source, parent)))
            elif not _text(source, node).startswith("{"):
                dynamic = True
        elif node.type == "function_name":
            functions.add(_text(source, node))
        elif parses and _rejected_by_powershell(source, node):
            parses = False
    return Parsed(parses, tuple(calls), frozenset(functions), dynamic)


def _patch_grammar_gap(found: re.Match[bytes]) -> bytes:
    """As many bytes that mean the same to the grammar."""
    piece = found[0]
    match found.lastgroup:
        case "attached":
            return piece[:2].ljust(len(piece), b"x")
        case "operator":
            return b"-eq".ljust(len(piece))
        case "item":
            return piece.removesuffix(found["bare"]).ljust(len(piece), b"1")
        case "lone":
            return b"x"
        case "clause" if b"switch" in found.string[: found.start()].lower():
            return b"\n"
    return piece


def _called(source: bytes, node: Node) -> str | None:
    """A command's name if it is written out.

    None if it is known only at run time: `& $x`, `& "$p/x"`, `& { … }`.
    """
    text = _text(source, node)
    if node.type == "command_name":
        return text
    is_dynamic = text[:1] in "$({@" or (text[:1] == '"' and "$" in text)
    return None if is_dynamic else _bare(text)


def _arguments(source: bytes, command: Node | None) -> tuple[str, ...]:
    elements = command and command.child_by_field_name("command_elements")
    parts = elements.children if elements else []
    return tuple(
        _bare(_text(source, part)) for part in parts if part.type != "command_argument_sep"
    )


def _rejected_by_powershell(source: bytes, node: Node) -> bool:
    """What the grammar alone accepts: `<`, and `$name:` followed by nothing in a string."""
    if node.type == "file_redirection_operator":
        return _text(source, node) == "<"
    if node.type == "expandable_string_literal":
        return bool(_BAD_VARIABLE.search(source, node.start_byte, node.end_byte))
    return False
