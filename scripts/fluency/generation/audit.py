"""The whole answer store: listed, and verified against its hashes."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

from fluency.common.paths import ANSWERS
from fluency.common.terminal import print_lines
from fluency.common.words import plural
from fluency.core.records import Answer
from fluency.generation.store import AnswerStore, DamagedAnswer, read_answer


@dataclass
class Verified:
    """How many answers are sound, and file -> what is wrong with the others."""

    sound: int = 0
    damaged: dict[str, str] = field(default_factory=dict)


def verify(store: AnswerStore) -> Verified:
    """Check every answer against its hashes."""
    found = Verified()
    for path in store.files():
        try:
            found.sound += read_answer(path) is not None
        except DamagedAnswer as error:
            found.damaged[str(path)] = error.what
    return found


def main(store: AnswerStore | None = None) -> int:
    """`make answers`: verify and list; the exit code is 1 if an answer is damaged, else 0."""
    store = store or AnswerStore(ANSWERS)
    found = verify(store)
    lines = [f"{store.folder}: {found.sound} sound answers, {len(found.damaged)} damaged."]
    lines += [f"  {line}" for line in _listing(store)]
    print_lines([*lines, *(f"  {path}: {why}" for path, why in found.damaged.items())])
    return 1 if found.damaged else 0


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
