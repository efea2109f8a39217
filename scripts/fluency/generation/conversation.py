"""The turns after the first: what a model is shown of its command's end, and what is said. Pure."""

import re

from fluency.common.words import escape_controls, plural
from fluency.core.records import Answer, Execution, Request, Shown, Stream
from fluency.core.shells import SHELLS
from fluency.generation.providers import PROVIDERS

HEAD, TAIL = 1500, 500
"""Bytes of a stream that are shown of its start and of its end."""
AGAIN = "If this is not what was asked for, correct the command; otherwise repeat it unchanged."
"""It offers no word for `finished`, which models take also where the command has failed."""


def shown_of(execution: Execution) -> Shown:
    """What is shown of an execution that has run: the study's first world, as designed."""
    result = execution.runs[0].result
    return Shown(
        exit_code=result.exit_code,
        signal=result.signal,
        spawn_error=result.spawn_error,
        stopped_after_s=execution.timeout_s if result.timed_out else None,
        stdout=_shortened(result.stdout),
        stderr=_shortened(result.stderr),
    )


def _shortened(stream: Stream) -> Stream:
    """Its first and last bytes; of one that was not kept to its end the first alone."""
    raw = stream.raw()
    if stream.truncated:
        return Stream.of(raw[:HEAD], stream.bytes)
    return Stream.of(raw[:HEAD] + raw[-TAIL:], len(raw)) if len(raw) > HEAD + TAIL else stream


def message(shown: Shown, shell: str) -> str:
    """What is said after an answer, as the user or as the result of the tool call."""
    lines = [f"The command was run in a fresh copy of this directory. {_ending(shown)}."]
    for name, stream in (("output", shown.stdout), ("error", shown.stderr)):
        lines += [f"Standard {name} ({plural(stream.bytes, 'byte')}):", *_fenced(stream)]
    return "\n".join([*lines, AGAIN, SHELLS[shell].prompt_line])


def _ending(shown: Shown) -> str:
    if shown.stopped_after_s is not None:
        return f"It was stopped after {shown.stopped_after_s:g} seconds"
    if shown.spawn_error is not None:
        return f"It could not be started: {escape_controls(shown.spawn_error)}"
    if shown.exit_code is None:
        return f"It was ended by signal {shown.signal}"
    return f"Exit status: {shown.exit_code}"


def _fenced(stream: Stream) -> list[str]:
    """Its lines in a fence that no run of backticks in them can close."""
    raw = stream.raw()
    left_out = stream.bytes - len(raw)
    parts = [raw[:HEAD], raw[HEAD:]] if left_out else [raw]
    texts = [escape_controls(part.decode("utf-8", "backslashreplace")) for part in parts]
    text = f"\n[{plural(left_out, 'byte')} left out]\n".join(texts)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [fence, text.removesuffix("\n"), fence] if text else []


def request_after(answer: Answer, planned: Request, shown: Shown, shell: str) -> Request:
    """The request of a turn in full.

    Args:
        answer: of the turn before, whose outcome is ok.
        planned: the request as far as it is known before that turn.
    """
    assert planned.earlier  # of a later turn
    said = PROVIDERS[planned.wire].conversation(answer.raw, planned.tool, message(shown, shell))
    return planned.model_copy(
        update={
            "follow_up": [*answer.request.follow_up, *said],
            "earlier": planned.earlier.model_copy(update={"shown": shown}),
        }
    )
