"""The whole answer store: listed, and verified against its hashes."""

from collections import Counter

from fluency.common.paths import ANSWERS
from fluency.common.terminal import print_lines
from fluency.generation.store import AnswerStore, DamagedAnswer


def verify(store: AnswerStore) -> tuple[Counter[str], dict[str, str]]:
    """Check every answer against its hashes.

    Returns:
        How many are sound, by model, server and outcome; and file -> what is wrong with it.
    """
    sound, damaged = Counter[str](), dict[str, str]()
    for path in store.files():
        try:
            if answer := store.get(path.stem):
                sound[f"{answer.request.model_id}, by {answer.server}: {answer.outcome}"] += 1
        except DamagedAnswer as error:
            damaged[str(path)] = error.what
    return sound, damaged


def main(store: AnswerStore | None = None) -> int:
    """`make answers`: verify and list; the exit code is 1 if an answer is damaged, else 0."""
    store = store or AnswerStore(ANSWERS)
    sound, damaged = verify(store)
    head = f"{store.folder}: {sound.total()} sound answers, {len(damaged)} damaged."
    lines = [*sorted(sound.items()), *damaged.items()]
    print_lines([head, *(f"  {name}: {what}" for name, what in lines)])
    return bool(damaged)
