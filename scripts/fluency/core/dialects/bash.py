"""Bash: its parser, and how the explorer colours it."""

from __future__ import annotations

import tree_sitter_bash
from tree_sitter import Language

from fluency.core.dialects.tree import Call, Parsed, bare, nodes, syntax_tree, text_of

LANGUAGE = Language(tree_sitter_bash.language())
TOKENS = (
    r"""(?<c>(?<=^|\s)#[^\n]*)"""
    r"""|(?<s>'[^']*'?|"(?:[^"\\]|\\[^])*"?)"""
    r"""|(?<v>\$(?:\{[^}\n]*\}?|\w+|[@*#?$!-]))"""
    r"""|(?<f>(?<=\s)--?[A-Za-z][\w-]*)"""
    r"""|(?<o>\|\||&&|[|&;<>(){}]|\$\()"""
    r"""|(?<k>\b(?:for|while|until|do|done|if|then|elif|else|fi|case|esac|in|function)\b)"""
)
"""A regular expression of JavaScript: comment, string, variable, flag, operator, keyword."""


def parse(source: bytes) -> Parsed:
    """What Bash reads."""
    tree = syntax_tree(LANGUAGE, source)
    calls, functions = [], set()
    for node, _ in nodes(tree):
        if node.type == "command":
            name = node.child_by_field_name("name")
            if name is not None:
                rest = node.children_by_field_name("argument")
                called, *arguments = (bare(text_of(source, part)) for part in (name, *rest))
                calls.append(Call(called, tuple(arguments)))
        elif node.type == "test_command" and node.children[0].type == "[":
            calls.append(Call("[", ()))
        elif node.type in ("declaration_command", "unset_command"):
            calls.append(Call(text_of(source, node.children[0]), ()))
        elif node.type == "function_definition":
            functions.add(text_of(source, node.child_by_field_name("name") or node))
    return Parsed(not tree.root_node.has_error, tuple(calls), frozenset(functions))
