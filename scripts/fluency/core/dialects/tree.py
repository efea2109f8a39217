"""A text as tree-sitter reads it, with what the dialects share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Tree

# tree-sitter's recovery from errors takes time by the square of the length: a minute for 8,000
# bytes. References and recorded answers take 2,000 steps at most, 8,000 bytes without an error
# about 45,000.
MAX_HUNDREDS_OF_STEPS = 2_000


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
    # Runs a text, starts another shell or asks what a name means: more may be called.
    looks_up: bool = False


class TooManySteps(Exception):
    """The parser was stopped: recovering from the errors of a text would take too long."""


def syntax_tree(language: Language, source: bytes) -> Tree:
    """tree-sitter's tree of a text; TooManySteps if it has too many errors."""
    calls = itertools.count(1)
    # A new parser each time: one belongs to one thread, and would go on with a text it had left.
    parser = Parser(language)
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + 4_096],
            # Called once in a hundred steps.
            progress_callback=lambda *_: next(calls) > MAX_HUNDREDS_OF_STEPS,
        )
    except ValueError:  # "Parsing failed", after that callback has said so
        raise TooManySteps from None


def nodes(tree: Tree) -> Iterator[tuple[Node, Node | None]]:
    """Every node with its parent, in the order of the text.

    Without recursion, since nesting may be deep; and without `Node.parent`, which searches for the
    node from the root and takes too long in a long text.
    """
    stack: list[tuple[Node, Node | None]] = [(tree.root_node, None)]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack.extend((child, node) for child in reversed(node.children))


def text_of(source: bytes, node: Node) -> str:
    """The text of a node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")


def bare(text: str) -> str:
    """A word less the quotes around it."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text
