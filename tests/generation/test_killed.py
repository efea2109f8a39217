"""Killed at any moment: no answer is asked for twice, none is torn, none is another's."""

import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from fluency.common.errors import StopRun
from fluency.common.paths import ROOT
from fluency.generation.audit import verify
from fluency.generation.store import AnswerStore
from tests.generation.studies import SUFFIX, ask, generator_of, prompt_of
from tests.generation.worker import generate, key_of, the_cells

KILLS = 100


def steps_of(child: dict, name: str) -> set[str]:
    return {what for step, what in child["steps"] if step == name}


@pytest.mark.parametrize("wire", ["messages", "chat"])  # clouds share the code of Messages
def test_a_run_killed_at_any_moment_loses_no_answer_and_pays_for_none_twice(wire, endpoint, store):
    study, cells = the_cells(30 * KILLS, wire)
    url = endpoint.url + SUFFIX.get(wire, "")
    keys = {prompt_of(cell): key_of(study, cell) for cell in cells}
    asked_again, moments, plain = [], random.Random(3), endpoint.reply_to

    def look(seen) -> None:
        if store.get(keys[seen.prompt]):
            asked_again.append(seen.prompt)

    endpoint.on_request = look
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    endpoint.reply_to = lambda seen: replace(
        plain(seen),
        first_byte_s=moments.uniform(0, 0.01),
        chunk_bytes=moments.choice([0, 0, 100]),
        chunk_s=0.0005,
    )
    command = [sys.executable, "-m", "tests.generation.worker", url, str(store.folder)]
    command += [str(len(cells)), str(KILLS), wire]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    children = report["children"]
    assert not set().union(*(steps_of(child, "failed") for child in children))
    assert sum(child["killed"] for child in children) == KILLS

    kept, cut = set(), Counter()
    for child in children:
        asked = steps_of(child, "asked")
        assert not asked & kept  # the promise: what was kept is never asked for again
        kept |= steps_of(child, "kept")
        cut.update(asked - steps_of(child, "kept"))

    touched, before = cells[: report["touched"]], len(endpoint.requests)
    generate(url, store, study, touched)
    assert not kept & {keys[prompt] for prompt in endpoint.prompts[before:]}
    assert asked_again == [] and all(store.get(key) for key in kept)
    sound, damaged = verify(store)
    assert (sound.total(), damaged) == (len(touched), {})
    for prompt in map(prompt_of, touched):
        answer = store.get(keys[prompt])
        assert answer.text == f"echo '{prompt}'" and answer.text in str(answer.raw)
    # Every repetition is explained by a kill before the answer had its name.
    repeats = Counter(keys[prompt] for prompt in endpoint.prompts) - Counter(
        keys[prompt_of(cell)] for cell in touched
    )
    assert all(repeats[key] <= cut[key] for key in repeats)


def test_a_second_run_over_the_same_answers_is_refused_with_a_sentence(endpoint, store):
    study, cells = the_cells(4, "messages")
    first = generator_of(study, store, endpoint)
    with pytest.raises(StopRun, match="another run is asking models") as caught:
        generator_of(study, AnswerStore(store.folder), endpoint)
    assert caught.value.where == str(store.folder) and caught.value.hint
    record = ask(first, cells[0])
    first.close()
    second = generator_of(study, AnswerStore(store.folder), endpoint)
    assert ask(second, cells[0]) == record and len(endpoint.requests) == 1
    second.close()
