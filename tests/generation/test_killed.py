"""Killed at any moment: no answer is asked for twice, none is torn, none is another's."""

import random
import sys
from dataclasses import replace

import pytest

from fluency.common.errors import StopRun
from fluency.generation.store import AnswerStore, verify
from tests.generation.studies import SUFFIX, ask, generator_of, prompt_of
from tests.generation.worker import THREADS, generate, key_of, the_cells
from tests.programs import completed

KILLS = 100


@pytest.mark.parametrize("wire", ["messages", "chat"])  # clouds share the code of Messages
def test_a_run_killed_at_any_moment_loses_no_answer_and_pays_for_none_twice(wire, endpoint, store):
    study, cells = the_cells(30 * KILLS, wire)
    url = endpoint.url + SUFFIX.get(wire, "")
    keys = {prompt_of(cell): key_of(study, cell) for cell in cells}
    asked_again, moments, plain = [], random.Random(3), endpoint.reply_to

    def look(seen):
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
    touched = cells[: int(completed(*command, timeout=300).stdout)]
    generate(url, store, study, touched)
    assert asked_again == []
    sound, damaged = verify(store)
    assert (sound.total(), damaged) == (len(touched), {})
    for prompt in map(prompt_of, touched):
        answer = store.get(keys[prompt])
        assert answer.text == f"echo '{prompt}'" and answer.text in str(answer.raw)
    # Only the calls in flight at a kill are repeated.
    assert len(endpoint.prompts) - len(touched) <= KILLS * THREADS


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
