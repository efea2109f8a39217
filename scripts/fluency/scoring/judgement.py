"""The judgement of one result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fluency.core.records import Result
from fluency.core.tasks import Task
from fluency.scoring import checks

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
        empty: the output has no lines.
    """

    exit_ok: bool
    structural: bool
    structure_ok: bool
    content: bool
    why: str
    table_noise: bool = False
    empty: bool = False

    @property
    def passed(self) -> bool:
        return self.exit_ok and self.structure_ok and self.content


def judge(task: Task, result: Result, expected: Any) -> Judgement:
    """The judgement of a result against the expected answer of its world.

    UserError if the answer's form is wrong.
    """
    ending = exit_problem(result)
    ended = ending is None
    raw = result.stdout.raw()
    if result.stdout.truncated:
        cut = f"standard output was cut after {len(raw)} of {result.stdout.bytes} bytes"
        return Judgement(ended, False, False, False, _sentence(ending, cut))
    text = checks.clean(raw)
    lines = checks.output_lines(text)
    shape = checks.design_structure_problem(task.structure, text, lines)
    real = checks.structure_problem(task.structure, text, lines)
    wrong = checks.content_problem(task.content, expected, text, lines)
    noise = bool(wrong or real) and _is_table_noise(task, expected, lines)
    return Judgement(
        exit_ok=ended,
        structural=ended and shape is None,
        structure_ok=real is None,
        content=wrong is None,
        why=_sentence(ending, real or wrong, noise),
        table_noise=noise,
        empty=not lines,
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


def _is_table_noise(task: Task, expected: Any, lines: list[str]) -> bool:
    """Whether the answer is right without a table's lines.

    These are rules with the line before each, and group lines; without a rule, a header line.
    """
    if task.structure.json_shape is not None or len(lines) < 2:
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
        and checks.structure_problem(task.structure, "", kept) is None
        and checks.content_problem(task.content, expected, "\n".join(kept), kept) is None
    )
