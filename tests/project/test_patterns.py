"""No regular expression of the package takes more than linear time, whatever text it meets."""

import ast
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import fluency
from fluency.core.shells import SHELLS
from fluency.core.tasks import load_tasks

SMALL = 1_000
ANY_CHARACTERS = " a0A-,.:;/\\'\"`$=+|─\n\t"
METHODS = {"search", "match", "fullmatch", "sub", "findall", "finditer", "split"}
NOT_LINEAR = {
    "common.source_hash._NO_IMPORT": "it reads the package's own sources",
    "common.source_hash._IMPORT": "the same",
    "miner.redact._RULES": "tests/miner measures redact as a whole",
    "miner.intents._WRITES": "it reads commands of at most 2,000 characters",
    "miner.intents._AWK": "the same",
    "miner.intents._HTTPIE": "the same",
    "miner.intents._QUOTED": "the same",
}
"""What need not be linear, with the reason."""


# ---------------------------------------------------------------- how long a match takes
class TooSlow(Exception):
    pass


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """TooSlow after as much processor time: the engine of `re` looks for signals while it matches."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds_for(match: Callable[[Any], object], text: str | bytes) -> float:
    """The best of three, since other processes may be at work; a processor's own clock may tick only every 4 ms."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        match(text)
        times.append(time.perf_counter() - started)
    return min(times)


def is_linear(match: Callable[[Any], object], of_size: Callable[[int], str | bytes]) -> bool:
    """Whether a text of 8,000 characters takes next to no time, or less than 16 times as long as one of 1,000."""
    small, big = of_size(SMALL), of_size(8 * SMALL)
    with suppress(TooSlow), at_most(1):
        for _ in range(4):
            slow = seconds_for(match, big)
            if slow < 0.005 or slow < 16 * seconds_for(match, small):
                return True
    return False


# ---------------------------------------------------------------- every pattern
class Found(NamedTuple):
    name: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...] = ("search", "findall")


def patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from patterns_in(item)


def inline_patterns(source: str) -> Iterator[tuple[str, str | bytes]]:
    """Method and pattern of calls such as `re.sub("a+", …)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
            method, pattern = ast.unparse(node.func).removeprefix("re."), node.args[0]
            if method in METHODS and isinstance(pattern, ast.Constant):
                yield method, pattern.value


def every_module() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(fluency.__path__, "fluency."):
        try:
            yield importlib.import_module(module.name)
        except (
            ModuleNotFoundError
        ) as error:  # the export for Inspect is run in Inspect's environment
            assert error.name == "inspect_ai"


def every_pattern() -> Iterator[Found]:
    places: dict[re.Pattern[Any], str] = {}
    uses: dict[re.Pattern[Any], set[str]] = defaultdict(set)
    for module in every_module():
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        place = module.__name__.removeprefix("fluency.")
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                places.setdefault(pattern, f"{place}.{name}")
                uses[pattern] |= set(re.findall(rf"\b{name}\.(\w+)\(", source)) & METHODS
        for method, text in inline_patterns(source):
            pattern = re.compile(text, re.MULTILINE)
            places[pattern] = f"{place}: {text!r}"
            uses[pattern].add(method)
    for pattern, place in places.items():
        whole = bool(uses[pattern]) and uses[pattern] <= {"fullmatch", "match"}
        yield Found(place, pattern, *([tuple(sorted(uses[pattern]))] if whole else []))
    for shell in SHELLS.values():
        for kind in ("missing_command", "syntax_error"):
            yield Found(f"{kind} of {shell.name}", re.compile(getattr(shell, kind), re.MULTILINE))
    for task in load_tasks():
        if task.structure.line is not None:
            yield Found(f"line of {task.id}", re.compile(task.structure.line))


# ---------------------------------------------------------------- texts made of what a pattern looks for
def pieces_of(tree: Any) -> Iterator[str]:
    """What a pattern looks for, piece by piece: literal runs, a text for each set, every branch after the other."""
    for literal, group in itertools.groupby(tree, lambda part: str(part[0]) == "LITERAL"):
        if literal:
            yield "".join(chr(value) for _, value in group)
            continue
        for kind, value in group:
            match str(kind):
                case "ANY" | "NOT_LITERAL":
                    yield "a "
                case "IN":
                    yield _member(value)
                case "BRANCH":
                    for branch in value[1]:
                        yield from pieces_of(branch)
                case "SUBPATTERN":
                    yield from pieces_of(value[3])
                case "ATOMIC_GROUP":
                    yield from pieces_of(value)
                case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                    yield from list(pieces_of(value[2])) * min(3, max(1, value[0]))


def _member(items: Any) -> str:
    """Some characters of a set: all that are named, the first of each range, one of each kind."""
    if str(items[0][0]) == "NEGATE":
        return "a"
    kinds = {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
    of = {"LITERAL": lambda value: chr(value), "RANGE": lambda value: chr(value[0])}
    return "".join(
        of.get(str(kind), lambda value: kinds.get(str(value), "a"))(value) for kind, value in items
    )


def nasty(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Beginnings, and what to repeat after each: single characters, and pieces of what the pattern matches."""
    yield from (("", character) for character in ANY_CHARACTERS)
    found, pieces = set(), list(pieces_of(_parser.parse(pattern.pattern, pattern.flags)))[:40]
    for start, piece in enumerate(pieces):
        before = "".join(pieces[:start][-8:])
        found |= {(before, character) for character in {*piece[:8], "a"}}
        for length in (1, 2, 3, 8):
            repeated = "".join(pieces[start : start + length])
            found |= {("", repeated), (before, repeated), (before + repeated, repeated)}
    yield from sorted(found)


@pytest.mark.parametrize(
    "found",
    [found for found in every_pattern() if found.name not in NOT_LINEAR],
    ids=lambda found: found.name,
)
def test_every_pattern_is_linear(found):
    as_bytes = isinstance(found.pattern.pattern, bytes)
    for method, (beginning, repeated) in itertools.product(found.methods, nasty(found.pattern)):

        def of_size(size: int, beginning: str = beginning, repeated: str = repeated) -> str | bytes:
            text = beginning + repeated * (size // len(repeated)) + "\0"
            return text.encode() if as_bytes else text

        match = (
            (lambda text: found.pattern.sub("", text))
            if method == "sub"
            else getattr(found.pattern, method)
        )
        assert is_linear(match, of_size), (method, beginning, repeated)
