"""PowerShell: its parser, and how the explorer colours it.

tree-sitter's grammar rejects some texts that PowerShell accepts. This is corrected without changing
the grammar: a text that does not parse is parsed again with the part that the grammar does not know
overwritten by equally many plain characters, so that names are still read from the original text at
the same place. The tests compare with recordings of PowerShell's parser.
"""

from __future__ import annotations

import re

import tree_sitter_pwsh
from tree_sitter import Language, Node, Tree

from fluency.core.dialects.tree import Call, Parsed, bare, nodes, syntax_tree, text_of

LANGUAGE = Language(tree_sitter_pwsh.language())
TOKENS = (
    r"""(?<c>(?<=^|\s)#[^\n]*)"""
    r"""|(?<s>'[^']*'?|"(?:[^"`]|`[^])*"?)"""
    r"""|(?<v>\$(?:\{[^}\n]*\}?|[\w:]+|[?$^]))"""
    r"""|(?<k>\b[A-Za-z]+-[A-Z][A-Za-z]+\b"""
    r"""|\b(?:foreach|for|while|if|elseif|else|switch|function|param)\b)"""
    r"""|(?<f>(?<=\s)-[A-Za-z]\w*)"""
    r"""|(?<o>\|\||&&|[|&;<>(){}]|@\()"""
)
"""A regular expression of JavaScript: comment, string, variable, keyword, flag, operator."""
_LOOKS_UP = re.compile(
    r"invoke-?(?:expression|command|script|history)|\b(?:iex|icm|gcm|gal|sal|nal)\b|alias"
    r"|get-command|scriptblock\]|\.ps1\b|\bpwsh\b|powershell",
    re.IGNORECASE,
)
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
    rb"|(?P<lone>(?<=[\w'\"*)}/.] )[+!](?=[ |;]|$))"
    rb"|(?P<null>[)}\]]\?(?=\.[A-Za-z_]|\[))"
    rb"|(?P<named>(?<=\$)\w++\?(?=\.[A-Za-z_]|\[))"  # $x?.y is y of the variable `x?`
    rb"|(?P<job>(?<=[\w'\")}\].] )&(?=\s*+(?:[;)}]|\Z)))",
    re.DOTALL,
)


def parse(source: bytes) -> Parsed:
    """What PowerShell reads, except texts that it rejects and the grammar accepts."""
    tree, _ = corrected_tree(source)
    parses = not tree.root_node.has_error
    calls, functions, dynamic = [], set(), False
    for node, parent in nodes(tree):
        if node.type in ("command_name", "command_name_expr"):
            if parent is not None and parent.type == "command_name_expr":
                continue
            if (name := _called(source, node)) is not None:
                calls.append(Call(name, _arguments(source, parent)))
            elif not text_of(source, node).startswith("{"):
                dynamic = True
        elif node.type == "function_name":
            functions.add(text_of(source, node))
    looks_up = _LOOKS_UP.search(source.decode(errors="replace")) is not None
    return Parsed(parses, tuple(calls), frozenset(functions), dynamic, looks_up)


def corrected_tree(source: bytes) -> tuple[Tree, set[str | None]]:
    """A text's tree, and the kinds of parts that were overwritten for it."""
    tree = syntax_tree(LANGUAGE, source)
    if not tree.root_node.has_error:
        return tree, set()
    patched = _GAPS.sub(_patch_grammar_gap, source)
    kinds = {found.lastgroup for found in _GAPS.finditer(source)}
    return (tree, kinds) if patched == source else (syntax_tree(LANGUAGE, patched), kinds)


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
        case "null":
            return b" " + piece[:1]
        case "named":
            return piece[:-1] + b"x"
        case "job":
            return b";"
        case "clause" if b"switch" in found.string[: found.start()].lower():
            return b"\n"
    return piece


def _called(source: bytes, node: Node) -> str | None:
    """A command's name if it is written out.

    None if it is known only at run time: `& $x`, `& "$p/x"`, `& { … }`.
    """
    text = text_of(source, node)
    if node.type == "command_name":
        return text
    is_dynamic = text[:1] in "$({@" or (text[:1] == '"' and "$" in text)
    return None if is_dynamic else bare(text)


def _arguments(source: bytes, command: Node | None) -> tuple[str, ...]:
    elements = command and command.child_by_field_name("command_elements")
    parts = elements.children if elements else []
    return tuple(
        bare(text_of(source, part)) for part in parts if part.type != "command_argument_sep"
    )
