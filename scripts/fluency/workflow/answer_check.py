"""Before anybody is asked: the right answer of every task can be worked out in every world, and soon."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence
from types import FrameType

from fluency.common.errors import UserError
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import Task

LIMIT_S = 10.0
"""What one answer function may need for one world; those of the bank need milliseconds."""


def check_answers(tasks: Sequence[Task], seeds: Sequence[int], limit_s: float = LIMIT_S) -> None:
    """Work out every answer; UserError names the answer.py that raises, or needs more than `limit_s` seconds.

    Runs in the main thread, which is where signals arrive.
    """
    for task in tasks:
        for seed in seeds:
            with _deadline(task, seed, limit_s):
                world = world_for(task, seed)
                task.expected(world, planned_processes(world) if "processes" in task.needs else ())


@contextlib.contextmanager
def _deadline(task: Task, seed: int, seconds: float) -> Iterator[None]:
    def too_long(_signal: int, _frame: FrameType | None) -> None:
        raise UserError(
            f"the task's answer was not worked out within {seconds:g} s",
            where=f"{task.folder / 'answer.py'} (world {seed})",
            hint=f"every score of this task would wait for it; look for an endless loop, then `make validate "
            f"TASK={task.id}`",
        )

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
