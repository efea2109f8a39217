"""No regular expression of the package takes long on a hostile text."""

import ast
import importlib
import itertools
import pkgutil
import re
import signal
from collections import defaultdict, deque
from pathlib import Path

import pytest

import fluency
from fluency.core.shells import SHELLS
from fluency.core.tasks import load_tasks

SIZE, LIMIT_S = 15_000, 0.12
"""Characters of a hostile text, and its processor time: a quadratic pattern takes far longer."""
SINGLE = " a0A-,.:;/\\'\"`$=+|─\n\t"
MODULES = [module.name for module in pkgutil.walk_packages(fluency.__path__, "fluency.")]
USES = defaultdict(set)
"""Name -> the methods that the package calls of what it names so."""
for path in Path(fluency.__path__[0]).rglob("*.py"):
    for name, method in re.findall(r"\b(\w+)\.(\w+)", path.read_text()):
        USES[name].add(method)
SEEN = set()
"""Patterns and methods of the modules before: one imports what another makes."""
METHODS = {"search", "match", "fullmatch", "sub", "findall", "finditer", "split"}
EXEMPT = {
    "fluency.common.source_hash._NO_IMPORT": "reads the package's own sources",
    "fluency.common.source_hash._IMPORT": "reads the package's own sources",
    "fluency.miner.intents._WRITES": "reads commands of at most 2,000 characters",
    "fluency.miner.intents._QUOTED": "reads commands of at most 2,000 characters",
}


def patterns_in(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from patterns_in(item)


def inline_patterns(source):
    """Methods and patterns of calls such as `re.sub("a+", …)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
            method, text = ast.unparse(node.func).removeprefix("re."), node.args[0]
            if method in METHODS and isinstance(text, ast.Constant):
                yield method, re.compile(text.value, re.MULTILINE)


def patterns_of(module):
    """Name, pattern and method: `match` where the package searches with nothing of this name."""
    source = Path(str(module.__file__)).read_text()
    for name, value in vars(module).items():
        used = USES.get(name, set()) & METHODS
        method = "match" if used and used <= {"match", "fullmatch"} else "search"
        for pattern in sorted(set(patterns_in(value)), key=str):
            if f"{module.__name__}.{name}" not in EXEMPT:
                yield name, pattern, method
    for method, pattern in inline_patterns(source):
        yield "", pattern, "match" if method in ("match", "fullmatch") else "search"


def hostile(pattern):
    """Repeated characters and pieces of what the pattern looks for, with an end that fails."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    words = re.sub(r"\\[a-zA-Z]|\(\?[a-zA-Z:=!<]+|[\\\[\](){}?*+|^$.]", " ", source).split()[:12]
    pieces = [*words, *(word[0] for word in words)]
    starts = ["", *words, *map("".join, itertools.pairwise(words))]
    repeated = {*SINGLE, *pieces, *(a + b for a in pieces[:6] for b in (*pieces[:6], " ", "a"))}
    return {
        start + piece * (SIZE // len(piece)) + "\0"
        for piece in repeated
        for start in (starts if len(piece) == 1 else ["", piece])
    }


def stop(*_):
    raise TimeoutError


def slow_text(pattern, method):
    """The beginning of a hostile text that takes too long; None if all are fast.

    `re` looks for signals while it matches, so the timer's signal ends a match. No match is kept:
    thousands of new objects would have the collector walk all that a long test process holds.
    """
    use = pattern.fullmatch if method == "match" else lambda text: deque(pattern.finditer(text), 0)
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        for text in hostile(pattern):
            signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
            use(text if isinstance(pattern.pattern, str) else text.encode())
    except TimeoutError:
        return text[:80]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return None


@pytest.mark.parametrize("module", MODULES)
def test_patterns_of_a_module_read_hostile_text_in_time(module):
    for name, pattern, method in patterns_of(importlib.import_module(module)):
        if (pattern, method) not in SEEN:
            SEEN.add((pattern, method))
            assert slow_text(pattern, method) is None, name


def test_patterns_of_shells_and_tasks_read_hostile_text_in_time():
    for shell in SHELLS.values():
        for text in (shell.missing_command, shell.syntax_error):
            assert slow_text(re.compile(text, re.MULTILINE), "search") is None, shell.name
    for task in load_tasks():
        if task.structure and task.structure.line is not None:
            assert slow_text(re.compile(task.structure.line), "match") is None, task.id
