"""The judgement of one result."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fluency.common.files import sha256
from fluency.core.records import PathState, Result
from fluency.core.tasks import Structure, Task
from fluency.scoring import checks
from fluency.scoring.state import Left, differences, tree_left
from fluency.world import World

_RULE = re.compile(r"(?=.*[-=─━]{2})[-=+|─━ ]+")
_HEADER_LINE = re.compile(r"[A-Z%][A-Za-z%]*(?: [A-Z%][A-Za-z%]*)*")
_GROUP_LINE = re.compile(r"Directory: .*")


@dataclass(frozen=True)
class Judgement:
    """How one result of a command in one world is judged.

    Attributes:
        structural: exit code 0 and every line matches, as in the design; an empty output may pass.
        structure_ok: the structure alone, with any exit code; false for an empty output.
        why: one sentence about the first thing that is wrong.
        table_noise: the content would be right without a header, rule or group line.
        empty: an output was asked for, and has no lines.
        left: what is left behind and not as the task asks, a clause for each path.
        unasked: paths of the world that are gone or different unasked; None if unknown.
    """

    exit_ok: bool
    structural: bool
    structure_ok: bool
    content: bool
    why: str
    table_noise: bool = False
    empty: bool = False
    left: Sequence[str] = ()
    unasked: int | None = None

    @property
    def passed(self) -> bool:
        return self.exit_ok and self.right

    @property
    def right(self) -> bool:
        """Whether output and state are right, with any exit code."""
        return self.structure_ok and self.content and not self.left


def judge_in(world: World, task: Task, result: Result) -> Judgement:
    """The judgement of a result in its world."""
    state = task.state(world, result.processes)
    left = differences_in(world, result, state) if state else ()
    judged = judge(task, result, task.expected(world, result.processes), left)
    return replace(judged, unasked=unasked_changes(world, result, state))


def differences_in(world: World, result: Result, expected: Mapping[str, Any]) -> list[str]:
    """What of an expected state a result lacks, a clause for each path."""
    if not isinstance(result.state, list):
        return [f"what it left behind is unknown: {result.state or 'it was not observed'}"]
    changed = {one.path: _left(one) for one in result.state}
    for one in result.processes:
        if one.pid not in result.helpers_ended:
            changed[f"/proc/{one.pid}"] = Left("process")
    return differences(expected, tree_left(world.files, world.dirs, changed), changed)


def unasked_changes(world: World, result: Result, expected: Mapping[str, Any]) -> int | None:
    """How many paths of the world are gone or different though the task does not ask for it.

    What the expected state states and the world lacks at the start is asked for, with everything
    below it. None if what was left behind is unknown.
    """
    if not result.state:
        return None if result.tree_changed or result.lost else 0
    if isinstance(result.state, str):
        return None
    built: dict[str, tuple[str | None, int]] = dict.fromkeys(world.dirs, (None, 0o755))
    built |= {path: (sha256(data), 0o644) for path, data in world.files.items()}
    changed = [
        one.path
        for one in result.state
        if one.path in built and built[one.path] != (one.sha256, one.mode)
    ]
    before = tree_left(world.files, world.dirs, {})
    asked = [path for path, wanted in expected.items() if differences({path: wanted}, before, {})]
    return sum(not any(f"{path}/".startswith(f"{one}/") for one in asked) for path in changed)


def _left(one: PathState) -> Left:
    kept = one.content and not one.content.truncated
    content = one.content.raw() if one.content and kept else None
    return Left(one.kind, one.mode, one.target, one.sha256, content)


def judge(task: Task, result: Result, expected: Any, left: Sequence[str] = ()) -> Judgement:
    """The judgement of a result against the expected answer of its world.

    UserError if the answer's form is wrong.

    Args:
        left: what is left behind and not as the task asks.
    """
    ending = exit_problem(result)
    ended = ending is None
    wrong = f"{left[0]}{f', and {len(left) - 1} more' * (len(left) > 1)}" if left else None
    if task.structure is None or task.content is None:
        return Judgement(ended, ended, True, True, _sentence(ending, wrong), left=left)
    raw = result.stdout.raw()
    if result.stdout.truncated:
        cut = f"standard output was cut after {len(raw)} of {result.stdout.bytes} bytes"
        return Judgement(ended, False, False, False, _sentence(ending, cut))
    text = checks.clean(raw)
    lines = checks.output_lines(text)
    shape = checks.design_structure_problem(task.structure, text, lines)
    real = checks.structure_problem(task.structure, text, lines)
    other = checks.content_problem(task.content, expected, text, lines)
    noise = bool(other or real) and _is_table_noise(task.structure, task.content, expected, lines)
    return Judgement(
        exit_ok=ended,
        structural=ended and shape is None,
        structure_ok=real is None,
        content=other is None,
        why=_sentence(ending, real or other or wrong, noise),
        table_noise=noise and not left,
        empty=not lines,
        left=left,
    )


def exit_problem(result: Result) -> str | None:
    """None if the command ended with exit code 0, else one clause that says how it ended."""
    if result.spawn_error is not None:
        return f"the command could not be started: {result.spawn_error}"
    if result.timed_out:
        return f"it was stopped at the deadline after {result.wall_s:.1f} s"
    if result.signal is not None:
        return f"signal {result.signal} ended it"
    if result.exit_code is None:
        return "it has no exit code"
    return f"exit code {result.exit_code}" if result.exit_code else None


def _sentence(ending: str | None, wrong: str | None, noise: bool = False) -> str:
    if noise:
        wrong = f"header or table lines around a right answer: {wrong}"
    if ending is None:
        said = wrong or "the answer is right"
    else:
        said = f"{ending}, and {wrong}" if wrong else f"{ending}, though the output is right"
    return f"{said[:1].upper()}{said[1:]}."


def _is_table_noise(structure: Structure, content: str, expected: Any, lines: list[str]) -> bool:
    """Whether the answer is right without a table's lines.

    These are rules with the line before each, and group lines; without a rule, a header line.
    """
    if structure.json_shape is not None or len(lines) < 2:
        return False
    rules = {number for number, line in enumerate(lines) if _RULE.fullmatch(line)}
    # A rule at the end closes a frame: no header is before it.
    noise = rules | {number - 1 for number in rules if number + 1 < len(lines)}
    if rules:
        noise |= {number for number, line in enumerate(lines) if _GROUP_LINE.fullmatch(line)}
    elif _HEADER_LINE.fullmatch(lines[0]):
        noise = {0}
    kept = [line for number, line in enumerate(lines) if number not in noise]
    return (
        bool(noise)
        and checks.structure_problem(structure, "", kept) is None
        and checks.content_problem(content, expected, "\n".join(kept), kept) is None
    )
