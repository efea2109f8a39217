"""The whole answer store: listed, and verified against its hashes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fluency.common.paths import ANSWERS
from fluency.common.terminal import print_lines
from fluency.generation.store import AnswerStore, DamagedAnswer, read_answer


@dataclass
class Verified:
    """How many answers are sound, of which model, server and outcome; file -> what is wrong with it."""

    sound: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    damaged: dict[str, str] = field(default_factory=dict)


def verify(store: AnswerStore) -> Verified:
    """Check every answer against its hashes."""
    found = Verified()
    for path in store.files():
        try:
            if answer := read_answer(path):
                found.sound += 1
                kind = f"{answer.request.model_id}, by {answer.server}: {answer.outcome}"
                found.counts[kind] += 1
        except DamagedAnswer as error:
            found.damaged[str(path)] = error.what
    return found


def main(store: AnswerStore | None = None) -> int:
    """`make answers`: verify and list; the exit code is 1 if an answer is damaged, else 0."""
    store = store or AnswerStore(ANSWERS)
    found = verify(store)
    lines = sorted(found.counts.items()) + list(found.damaged.items())
    head = f"{store.folder}: {found.sound} sound answers, {len(found.damaged)} damaged."
    print_lines([head, *(f"  {name}: {what}" for name, what in lines)])
    return bool(found.damaged)
