"""Mutants of right outputs, which no check may accept."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.core.records import Result, Stream
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import Task, load_tasks
from fluency.scoring import checks
from fluency.scoring.checks import WORLD_ROOT
from fluency.scoring.judgement import judge
from tools.pages import filled

Named = tuple[str, bytes]


def render(lines: list[str]) -> bytes:
    """Lines as a command prints them."""
    return "".join(f"{line}\n" for line in lines).encode()


def render_json(value: Any) -> bytes:
    """JSON as `jq` and ConvertTo-Json print it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


# ---------------------------------------------------------------- must pass
def any_bytes(right: bytes) -> Iterator[Named]:
    """What happens to a text on its way: line ends, byte order mark, colour, padding, blanks."""
    lines = right.decode().splitlines()
    yield "CRLF line ends", right.replace(b"\n", b"\r\n")
    yield "byte order mark", b"\xef\xbb\xbf" + right
    yield "byte order mark and CRLF", b"\xef\xbb\xbf" + right.replace(b"\n", b"\r\n")
    yield "colour", render([f"\x1b[32;1m{line}\x1b[0m" for line in lines])
    yield "colour from the first byte to the last", b"\x1b[38;5;12m" + right + b"\x1b[m"
    yield "window title", b"\x1b]0;work\x07" + right
    yield "trailing blanks", render([f"{line}  \t" for line in lines])
    yield "leading blanks", render([f"   {line}" for line in lines])
    yield "blank lines around", b"\n\n" + right + b"\n \n"
    yield "no final line end", right.rstrip(b"\n")


def same_lines(task: Task, lines: list[str], rng: random.Random) -> Iterator[Named]:
    """The same answer in other lines: padding, order where it is free, paths in both forms."""
    yield "tabs between fields", render([line.replace(" ", "\t") for line in lines])
    yield "fields padded to a width", render([line.replace(" ", "    ") for line in lines])
    if task.content in checks.UNORDERED:
        yield "reversed", render(lines[::-1])
        for number in range(3):
            yield f"permuted ({number + 1})", render(rng.sample(lines, len(lines)))
    for name, prefix in (
        ("absolute paths", WORLD_ROOT),
        ("paths with ./", "./"),
        ("paths with /./", f"{WORLD_ROOT}./"),
    ):
        if task.content == "paths":
            yield name, render([prefix + line for line in lines])
        elif task.content == "keyed" or (
            task.content == "ordered" and checks.is_sized_paths(lines)
        ):
            yield name, render([line.replace(" ", f" {prefix}", 1) for line in lines])
    if task.content == "paths" and len(lines) > 1:
        yield "some paths absolute", render([f"{WORLD_ROOT}{lines[0]}", *lines[1:]])
    if task.content == "hex":
        yield "upper case", render([line.upper() for line in lines])
        yield "lower case", render([line.lower() for line in lines])


def same_json(task: Task, value: Any, rng: random.Random) -> Iterator[Named]:
    """The same JSON value in another form."""
    yield "compact", json.dumps(value, separators=(",", ":")).encode()
    yield "indented with tabs", json.dumps(value, indent="\t").encode()
    compact = json.dumps(value).encode()
    yield "escaped", re.sub(rb"[A-Z]", lambda found: b"\\u%04x" % found[0][0], compact)
    turned = _mapped(value, lambda item: dict(reversed(item.items())), dict)
    yield "keys in another order", render_json(turned)
    yield "numbers with a point", render_json(_mapped(value, float, int))
    if task.content == "jsonset":
        yield "reversed", render_json(value[::-1])
        for number in range(3):
            yield f"permuted ({number + 1})", render_json(rng.sample(value, len(value)))


# ---------------------------------------------------------------- must fail
def wrong_lines(task: Task, lines: list[str]) -> Iterator[Named]:
    """Outputs one slip away from right lines."""
    for number, line in enumerate(lines):
        rest = lines[:number] + lines[number + 1 :]
        yield f"line {number + 1} dropped", render(rest)
        yield f"line {number + 1} twice", render([*lines, line])
        for name, changed in _changed(line, task.content == "hex"):
            replaced = [*lines[:number], changed, *lines[number + 1 :]]
            yield f"line {number + 1} {name}", render(replaced)
            if name.endswith("raised"):
                yield f"line {number + 1} {name} and added", render([*lines, changed])
    if task.content == "ordered":
        for number in range(len(lines) - 1):
            swapped = [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
            if swapped != lines:
                yield f"lines {number + 1} and {number + 2} swapped", render(swapped)
        if len(lines) > 1:
            yield "reversed", render(lines[::-1])
    yield "header", render(["Name Count", *lines])
    yield "header and rule", render(["", "Name  Count", "----  -----", *lines, ""])
    yield "rule", render(["-" * 20, *lines])
    yield "group line", render([f"    Directory: {WORLD_ROOT}crates", "", *lines])
    yield "total at the end", render([*lines, f"{len(lines)} total"])
    yield "truncated table", render([line[: max(1, len(line) - 3)] + "…" for line in lines])
    yield "quoted", render([f'"{line}"' for line in lines])
    yield "numbered", render([f"{number}: {line}" for number, line in enumerate(lines, 1)])
    yield "a JSON array", render_json(lines)
    yield "cut in the middle", render(lines)[: max(1, len(render(lines)) // 2)]
    if len(lines) > 1:
        yield "on one line", render([" ".join(lines)])
        yield "with commas", render([f"{line}," for line in lines[:-1]] + lines[-1:])
    if all(line.count(" ") == 1 for line in lines):
        yield "fields swapped", render([" ".join(line.split(" ")[::-1]) for line in lines])
        yield "first field only", render([line.split(" ")[0] for line in lines])
        yield "second field only", render([line.split(" ")[1] for line in lines])
        yield "fields with a colon", render([line.replace(" ", ": ") for line in lines])
    if task.content == "paths":
        yield "names without their folder", render([line.rsplit("/", 1)[-1] for line in lines])
        yield "paths from another root", render([f"/tmp/{line}" for line in lines])
        yield "the same file by both names", render([*lines, f"{WORLD_ROOT}{lines[0]}"])
    elif task.content == "keyed":
        bare = [f"{line.split()[0]} {line.rsplit('/', 1)[-1]}" for line in lines]
        yield "names without their folder", render(bare)
        absolute = lines[0].replace(" ", f" {WORLD_ROOT}", 1)
        yield "the same file by both names", render([*lines, absolute])
    if task.content in ("set", "keyed"):
        yield "names as paths", render([f"./{line}" for line in lines])
        yield "absolute names", render([WORLD_ROOT + line for line in lines])


def wrong_json(value: Any) -> Iterator[Named]:
    """JSON one slip away from a right array of objects, or from another value."""
    yield "table", b"\ntool failures\n---- --------\n" + render([str(item) for item in value])
    yield "cut in the middle", render_json(value)[:-4]
    yield "twice", render_json(value) * 2
    yield "with a line before it", b"Result:\n" + render_json(value)
    yield "as a JSON string", render_json(json.dumps(value))
    yield "wrapped in an object", render_json({"value": value})
    yield "wrapped in an array", render_json([value])
    yield "numbers as strings", render_json(_mapped(value, str, int))
    yield "numbers raised", render_json(_mapped(value, lambda number: number + 1, int))
    yield "numbers a little raised", render_json(_mapped(value, lambda number: number + 0.5, int))
    capitals = _mapped(value, lambda item: {k.capitalize(): v for k, v in item.items()}, dict)
    yield "keys capitalised", render_json(capitals)
    yield "a key more", render_json(_mapped(value, lambda item: item | {"count": 1}, dict))
    if not isinstance(value, list):
        return
    yield "one object a line", render([json.dumps(item) for item in value]) if value[1:] else b"{}"
    yield "an object for the array", render_json(value[0])
    yield "an empty array", b"[]\n"
    yield "null added", render_json([*value, None])
    for number, item in enumerate(value):
        rest = value[:number] + value[number + 1 :]
        yield f"element {number + 1} dropped", render_json(rest)
        yield f"element {number + 1} twice", render_json([*value, item])
        for key in item if isinstance(item, dict) else ():
            less = {name: each for name, each in item.items() if name != key}
            yield f"element {number + 1} without {key}", render_json([*rest, less])
            yield f"element {number + 1} with {key} null", render_json([*rest, item | {key: None}])
            yield f"element {number + 1} with {key} true", render_json([*rest, item | {key: True}])
            again = json.dumps(item)[:-1] + f", {json.dumps(key)}: {json.dumps(item[key])}}}"
            items = ", ".join([*map(json.dumps, rest), again])
            yield f"element {number + 1} with {key} twice", f"[{items}]".encode()


def _changed(line: str, hexadecimal: bool) -> Iterator[tuple[str, str]]:
    """A line with one character changed, in several places and ways."""
    base = 16 if hexadecimal else 10
    digits = [
        found.start() for found in re.finditer("[0-9a-fA-F]" if hexadecimal else "[0-9]", line)
    ]
    for name, place in (("first digit", digits[:1]), ("last digit", digits[-1:])):
        for position in place:
            raised = f"{(int(line[position], base) + 1) % base:x}"
            yield f"with its {name} raised", line[:position] + raised + line[position + 1 :]
    if not digits:
        yield "with its last letter raised", line[:-1] + ("a" if line[-1] != "a" else "b")
    yield "without its last character", line[:-1]
    yield "without its first character", line.lstrip()[1:]  # checks ignore the blanks before it
    if not hexadecimal and line.swapcase() != line:
        yield "in the other case", line.swapcase()


def _mapped(value: Any, change: Any, kind: type) -> Any:
    """A JSON value with every value of a kind changed; booleans are not numbers."""
    if isinstance(value, list):
        value = [_mapped(item, change, kind) for item in value]
    elif isinstance(value, dict):
        value = {key: _mapped(item, change, kind) for key, item in value.items()}
    return change(value) if isinstance(value, kind) and not isinstance(value, bool) else value


PAGE = ROOT / "docs" / "checks.md"
SEEDS = (11, 24)


class Variant(NamedTuple):
    """A result made from the right output of a task, and whether a check may pass it."""

    name: str
    result: Result
    must_pass: bool


class Tally(NamedTuple):
    """Of a task in both worlds: wrong outputs and those killed, right ones and those accepted."""

    wrong: int
    killed: int
    right: int
    accepted: int
    survivors: list[str]


def variants(task: Task, expected: Any) -> Iterator[Variant]:
    """Every variant of the right output; the order and the content depend on the answer alone."""
    rng = random.Random(f"{task.id} {checks.quoted(str(expected), 1_000)}")
    if task.structure and task.structure.json_shape is not None:
        right, wrong = render_json(expected), wrong_json(expected)
        same = same_json(task, expected, rng)
    else:
        lines = list(expected) if isinstance(expected, list) else [expected]
        right, wrong = render(lines), wrong_lines(task, lines)
        same = same_lines(task, lines, rng)
    for name, stdout in [("the right output", right), *any_bytes(right), *same]:
        yield Variant(name, _result(stdout), True)
    for name, stdout in [("nothing printed", b""), *wrong]:
        yield Variant(name, _result(stdout), False)
    failed: dict[str, dict[str, object]] = {
        "exit code 1": {"exit_code": 1},
        "stopped at the deadline": {"exit_code": None, "signal": 9, "timed_out": True},
        "ended by a signal": {"exit_code": None, "signal": 11},
        "not started": {"exit_code": None, "spawn_error": "argument list too long"},
        "output cut by the sandbox": {"stdout": Stream.of(right, len(right) + 1)},
    }
    for name, fields in failed.items():
        yield Variant(name, _result(right).model_copy(update=fields), False)


def tally(task: Task, seeds: Sequence[int] = SEEDS) -> Tally:
    """The variants of a task in each world, judged."""
    made, good = Counter[bool](), Counter[bool]()
    survivors = []
    for seed in seeds:
        world = world_for(task, seed)
        expected = task.expected(world, planned_processes(world))
        for variant in variants(task, expected):
            made[variant.must_pass] += 1
            if judge(task, variant.result, expected).passed == variant.must_pass:
                good[variant.must_pass] += 1
            else:
                survivors.append(f"world {seed}: {variant.name}")
    return Tally(made[False], good[False], made[True], good[True], survivors)


def kill_table(tasks: Sequence[Task], seeds: Sequence[int] = SEEDS) -> str:
    """The table of docs/checks.md: wrong outputs killed and right ones accepted, by rule."""
    found: dict[str, list[Tally]] = {}
    for task in tasks:
        if task.content:
            found.setdefault(task.content, []).append(tally(task, seeds))
    return "\n".join(
        [
            "| rule | tasks | wrong outputs | killed | kill rate | right outputs | accepted |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *(_row(f"`{rule}`", found[rule]) for rule in sorted(found)),
            _row("all", [each for tallies in found.values() for each in tallies]),
        ]
    )


def _row(name: str, tallies: Sequence[Tally]) -> str:
    wrong, killed, right, accepted = (
        sum(getattr(t, part) for t in tallies) for part in Tally._fields[:4]
    )
    rate = f"{100 * killed / wrong:.1f} %"
    return f"| {name} | {len(tallies)} | {wrong} | {killed} | {rate} | {right} | {accepted} |"


def page_of(tasks: Sequence[Task]) -> str:
    """docs/checks.md with the table of these tasks."""
    return filled(PAGE.read_text(encoding="utf-8"), "kill table", kill_table(tasks))


def _result(stdout: bytes) -> Result:
    return Result(exit_code=0, stdout=Stream.of(stdout), stderr=Stream.of(b""), wall_s=0.1)


if __name__ == "__main__":
    write_atomic(PAGE, page_of([task for task in load_tasks() if not task.private]))
