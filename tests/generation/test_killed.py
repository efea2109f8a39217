"""Killed at any moment, and two runs at once: no answer is asked for twice, none is torn, none is another's."""

import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fluency.common.errors import StopRun
from fluency.generation.audit import verify
from fluency.generation.request import request_for, request_key
from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint
from tests.generation.studies import SUFFIX, ask, generator_of, prompt_of
from tests.generation.worker import the_cells
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]
KILLS = 100


def worker(*arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.generation.worker", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen) -> str:
    with process:
        try:
            printed, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return printed


def watch(endpoint: Endpoint, store, study, cells) -> tuple[dict[str, str], list[str]]:
    """The keys of all prompts, and a list that fills with requests for answers that were in the store already."""
    keys = {
        prompt_of(cell): request_key(request_for(study, cell, prompt_of(cell))) for cell in cells
    }
    asked_again: list[str] = []

    def look(seen) -> None:
        if store.get(keys[seen.prompt]):
            asked_again.append(seen.prompt)

    endpoint.on_request = look
    endpoint.answer = lambda prompt: f"echo '{prompt}'"
    return keys, asked_again


@pytest.mark.parametrize(
    "wire", ["messages", "chat"]
)  # the clouds share the code of the Messages wire
def test_a_run_killed_at_any_moment_loses_no_answer_and_pays_for_none_twice(wire, endpoint, store):
    study, cells = the_cells(30 * KILLS, wire=wire)
    url = endpoint.url + SUFFIX.get(wire, "")
    keys, asked_again = watch(endpoint, store, study, cells)
    moments = random.Random(3)
    plain = endpoint.reply_to
    endpoint.reply_to = lambda seen: replace(
        plain(seen),
        first_byte_s=moments.uniform(0, 0.01),
        chunk_bytes=moments.choice([0, 0, 100]),
        chunk_s=0.0005,
    )
    report = json.loads(finish(worker("kill", url, store.folder, len(cells), 5, KILLS, wire)))
    children = report["children"]
    failures = [step for child in children for step in child["steps"] if step[0] == "failed"]
    assert failures == [] and sum(child["killed"] for child in children) == KILLS

    kept, cut = set(), Counter()
    for child in children:
        steps = {
            name: {key for step, key in child["steps"] if step == name}
            for name in ("asked", "kept")
        }
        assert not steps["asked"] & kept  # the promise: what was kept is never asked for again
        kept |= steps["kept"]
        cut.update(steps["asked"] - steps["kept"])

    touched, killed_requests = cells[: report["touched"]], len(endpoint.requests)
    finish(worker("run", url, store.folder, len(touched), 1, wire))
    assert not kept & {keys[prompt] for prompt in endpoint.prompts[killed_requests:]}
    assert asked_again == [] and all(store.get(key) for key in kept)
    sound, damaged = verify(store)
    assert (sound.total(), damaged) == (len(touched), {})
    for cell in touched:
        answer = store.get(keys[prompt_of(cell)])
        assert answer.text == f"echo '{prompt_of(cell)}'" and answer.text in str(answer.raw)
    # Every repetition is explained by a kill before the answer had its name.
    repeats = Counter(keys[prompt] for prompt in endpoint.prompts) - Counter(
        keys[prompt_of(cell)] for cell in touched
    )
    assert all(repeats[key] <= cut[key] for key in repeats)


def test_a_second_run_over_the_same_answers_is_refused_with_a_sentence(endpoint, store):
    study, cells = the_cells(40)
    endpoint.delay_s = 0.05
    first = worker("run", endpoint.url, store.folder, len(cells), 1)
    wait_for(lambda: len(endpoint.requests) > 1)
    with pytest.raises(StopRun, match="another run is asking models") as caught:
        generator_of(study, store, endpoint)
    assert caught.value.where == str(store.folder) and caught.value.hint
    finish(first)
    assert (
        len(set(endpoint.prompts))
        == len(endpoint.prompts)
        == verify(store)[0].total()
        == len(cells)
    )
    generator = generator_of(study, store, endpoint)
    assert ask(generator, cells[0]).answer.text and len(endpoint.requests) == len(cells)
    generator.close()
    generator_of(study, AnswerStore(store.folder), endpoint).close()
