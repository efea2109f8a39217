"""The whole answer store: listed, verified against its hashes, merged with another one."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.paths import ANSWERS
from fluency.common.terminal import print_lines
from fluency.common.words import plural
from fluency.core.records import Answer
from fluency.generation.store import AnswerStore, DamagedAnswer, read_answer

STALE_S = 3600


@dataclass
class Verified:
    """How many answers are sound, and file -> what is wrong with the others."""

    sound: int = 0
    damaged: dict[str, str] = field(default_factory=dict)


@dataclass
class Merged:
    """Answers added, already here, here with another text (ours stays), and damaged."""

    added: int = 0
    same: int = 0
    different: list[str] = field(default_factory=list)
    damaged: dict[str, str] = field(default_factory=dict)


def verify(store: AnswerStore) -> Verified:
    """Check every answer against its hashes; remove temporary files of runs killed long ago."""
    found = Verified()
    for path in store.files():
        try:
            found.sound += read_answer(path) is not None
        except DamagedAnswer as error:
            found.damaged[str(path)] = error.what
    for path in store.folder.glob("[0-9a-f][0-9a-f]/.*.part"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > STALE_S:
                path.unlink()
    return found


def merge(store: AnswerStore, other: Path) -> Merged:
    """Copy another store's answers; what is here already stays."""
    if not other.is_dir():
        raise UserError(
            "there is no such folder", where=str(other), hint="name the folder of an answer store"
        )
    done, paths = Merged(), list(AnswerStore(other).files())
    if not paths:
        raise UserError(
            "this folder holds no answers", where=str(other), hint="name an answer store: `answers`"
        )
    for path in paths:
        try:
            answer = read_answer(path)
        except DamagedAnswer as error:
            done.damaged[str(path)] = error.what
            continue
        if answer is None:  # another process removed it
            continue
        if (mine := store.get(answer.request_key)) is None:
            store.put(answer)
            done.added += 1
        elif mine == answer:
            done.same += 1
        else:
            done.different.append(answer.request_key)
    return done


def main(other: Path | None = None, store: AnswerStore | None = None) -> int:
    """`make answers`: merge, verify and list; the exit code is 1 if an answer on either side is damaged, else 0."""
    store = store or AnswerStore(ANSWERS)
    damaged: dict[str, str] = {}
    if other is not None:
        done = merge(store, other)
        damaged |= done.damaged
        counts = f"{done.added} added, {done.same} here already, {len(done.different)} answered otherwise"
        stayed = (
            f"  {key}: both stores hold an answer; the one here stays" for key in done.different
        )
        print_lines([f"Merged {other}: {counts}.", *stayed])
    found = verify(store)
    damaged |= found.damaged
    lines = [f"{store.folder}: {found.sound} sound answers, {len(found.damaged)} damaged."]
    lines += [f"  {line}" for line in _listing(store)]
    print_lines([*lines, *(f"  {path}: {why}" for path, why in damaged.items())])
    return 1 if damaged else 0


def _listing(store: AnswerStore) -> list[str]:
    """One line for each model and temperature: answers, outcomes, tokens, first and last day."""
    groups: defaultdict[str, list[Answer]] = defaultdict(list)
    for path in store.files():
        with suppress(DamagedAnswer):
            if answer := read_answer(path):
                sent = answer.request.temperature
                sampling = "provider default" if sent is None else f"temperature {sent:g}"
                groups[f"{answer.request.model_id}, {sampling}, by {answer.server}"].append(answer)
    return [f"{name}: {_summary(answers)}" for name, answers in sorted(groups.items())]


def _summary(answers: list[Answer]) -> str:
    outcomes = Counter(answer.outcome for answer in answers)
    days = sorted(answer.received_utc[:10] for answer in answers)
    tokens_in = sum(answer.usage.input_tokens or 0 for answer in answers)
    tokens_out = sum(answer.usage.output_tokens or 0 for answer in answers)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{plural(len(answers), 'answer')} ({counts}), {tokens_in} tokens in, {tokens_out} out, {span}"
