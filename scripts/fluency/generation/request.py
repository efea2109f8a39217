"""What a cell asks: its prompt, its request and the request's key. Pure."""

from collections.abc import Callable, Sequence
from typing import Any

from fluency.core.records import Earlier, Request, ToolOffer
from fluency.core.shells import SHELLS, Shell
from fluency.core.study import Cell, Study
from fluency.core.tasks import Task
from fluency.generation.policies import resolve
from fluency.generation.reply import ARGUMENT

PREAMBLE = (
    "The current directory is the root of a Rust cargo workspace on a Linux machine. "
    "All paths are relative to it. "
    "The usual Linux command-line tools are installed, interpreters of other languages are not. "
    "Write only the requested output to standard output, and exit with status 0."
)
"""The first paragraph of every prompt. It names no program, because models use what is named."""
ANSWER_PROTOCOL = 1
"""Raised manually to make all answers so far invalid; they are then asked for again."""
TURN_PROTOCOL = 1
"""The same for the answers of later turns: it numbers the message that follows a run."""


def build_prompt(task_prompt: str, shell: str) -> str:
    """The text a model is sent: the preamble, the task, one line that names the shell."""
    return f"{PREAMBLE}\n\n{task_prompt.strip()}\n\n{SHELLS[shell].prompt_line}"


def request_for(study: Study, cell: Cell, prompt: str) -> Request:
    """The request of a cell, whose prompt is `prompt`."""
    model = study.model(cell.model)
    policy = resolve(model)
    request = Request(
        wire=model.wire,
        model_id=model.id,
        prompt=prompt,
        max_tokens=policy.max_tokens,
        temperature=policy.temperature_sent,
        thinking=policy.thinking,
        effort=policy.effort,
        extra_body=policy.extra_body,
        headers=policy.headers,
        tool=tool_of(SHELLS[cell.shell]) if model.interface == "tool" else None,
        trial=cell.trial,
        protocol=ANSWER_PROTOCOL,
    )
    if not policy.seeded:
        return request
    # In 1 … 2^31 - 1, made from the request: a rerun gets the same text.
    seed = int(request.key[:8], 16) % (2**31 - 1) + 1
    return request.model_copy(update={"seed": seed})


def requests_of(
    study: Study, tasks: Sequence[Task], world_for: Callable[[Task, int], Any]
) -> dict[Cell, Request]:
    """The request of each cell of a study, in the cells' order; of later turns as planned."""
    of = {task.id: task for task in tasks}
    worlds = {name: world_for(of[name], study.seeds[0]).sha256 for name in of if study.turns > 1}
    found: dict[Cell, Request] = {}
    for cell in study.cells([*of]):
        if cell.turn == 1:
            prompt = build_prompt(of[cell.task].prompt, cell.shell)
            found[cell] = request_for(study, cell, prompt)
        else:
            found[cell] = planned_after(found[cell.before], worlds[cell.task])
    return found


def planned_after(request: Request, world_sha256: str) -> Request:
    """The next turn's request as far as it is known before a turn: all that decides its key."""
    earlier = Earlier(key=request.key, world_sha256=world_sha256, protocol=TURN_PROTOCOL)
    return request.model_copy(update={"follow_up": [], "earlier": earlier})


def tool_of(shell: Shell) -> ToolOffer:
    """The tool of a shell, whose call is forced with `interface: tool`."""
    properties = {ARGUMENT: {"type": "string"}}
    return ToolOffer(
        name=shell.tool_name,
        description=f"Runs a {shell.title} command.",
        input_schema={"type": "object", "properties": properties, "required": [ARGUMENT]},
    )


def same_history(one: Request, other: Request) -> bool:
    """Whether two requests of one key differ at most in what was shown last."""
    before = (
        request.model_copy(update={"follow_up": request.follow_up[:-1], "earlier": None})
        for request in (one, other)
    )
    return next(before) == next(before)
