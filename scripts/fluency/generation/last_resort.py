"""An answer that no disk takes: kept in memory and tried again, and counted whatever becomes of it."""

from __future__ import annotations

import time

from fluency.common.errors import StopRun
from fluency.common.terminal import log_line
from fluency.core.records import Answer
from fluency.generation.answer_file import NotKept
from fluency.generation.context import GenerationContext

POLL_S = 0.25


def write_down(context: GenerationContext, answer: Answer) -> None:
    """Write an answer down beside its place, waiting for room if it is to be had nowhere; call it with the key's lock.

    StopRun if the answer is held elsewhere, or if nobody made room within the policy's `unwritten_s`: then it is lost.
    Its cost is counted first and taken back once it is written, so that it counts also if the process is killed.
    """
    try:
        context.store.write_pending(answer)
    except NotKept as full:
        _wait_for_room(context, answer, full)


def _wait_for_room(context: GenerationContext, answer: Answer, full: NotKept) -> None:
    store, budget, key = context.store, context.budget, answer.request_key
    dollars, patience_s = context.dollars(answer), context.retry_policy.unwritten_s
    noted = budget.add(dollars, key, lost=True)
    context.stop_run(StopRun(full.what, where=full.where, hint=full.hint))  # nothing more is bought meanwhile
    places = ", ".join(map(str, (store.folder, *store.shelter.folders)))
    log_line(
        f"{context.where}: no disk takes an answer that cost ${dollars:.4f} ({full.what}). It is kept in memory for "
        f"{patience_s / 60:.0f} minutes: make room in one of {places}"
    )
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        time.sleep(POLL_S)
        noted = noted or store.spending.add(dollars, key, lost=True)
        try:
            store.write_pending(answer)
        except NotKept:
            continue
        except StopRun:  # held elsewhere: the run that brings it back counts it
            budget.add(-dollars, key, lost=True)
            raise
        budget.add(-dollars, key, lost=True)
        return
    told = "which counts in every run's budget" if noted else "and no disk took a note of that: only this run knows"
    raise StopRun(
        f"an answer is lost that no disk took; it cost ${dollars:.4f}, {told} ({full.what})",
        where=full.where,
        hint=f"make room in one of {places}, then run again: the cell is asked, and paid, again",
    )
