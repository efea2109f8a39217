"""Before money is spent: the price is confirmed, and every answer can be computed."""

import re
import shutil

import pytest
import yaml

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import SHELLS
from fluency.core.study import PILOT, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import load_task, load_tasks
from fluency.execution.archives import NONE, file_name
from fluency.generation.cost_estimate import estimate_cost
from fluency.generation.request import requests_of
from fluency.generation.store import AnswerStore
from fluency.workflow import pipeline, preflight
from fluency.workflow.preflight import check_answers, check_models, confirm_price, missing_keys
from tests.generation.endpoint import Endpoint
from tests.generation.studies import ask, generator_of, study_of

TASKS = load_tasks(PILOT)
OPUS = {"alias": "opus", "id": "claude-opus-4-7", "requests_per_minute": 45}


@pytest.fixture
def store(tmp_path):
    return AnswerStore(tmp_path / "answers")


def agree(study: Study, store, *, terminal=True, answer="yes"):
    asked = []

    def ask(question):
        asked.append(question)
        return answer

    estimate = estimate_cost(study, TASKS, store)
    return confirm_price(estimate, ask if terminal else None), asked


def test_paid_run_asks_and_names_price(store):
    agreed, (question,) = agree(study_of(OPUS), store)
    assert agreed and "120 calls" in question and "$" in question
    assert not any(agree(study_of(OPUS), store, answer=no)[0] for no in ("no", "", "n", "maybe"))


def test_price_without_terminal_needs_confirm(store):
    with pytest.raises(UserError) as caught:
        agree(study_of(OPUS), store, terminal=False)
    assert 'confirm: "yes"' in caught.value.hint
    assert agree(study_of(OPUS, confirm="yes"), store, terminal=False) == (True, [])


@pytest.mark.parametrize(
    "entry, says",
    [
        ({"registration": "no/such.json"}, "no such registration"),
        ({"id": "new"}, r"mine.yaml: models: m: .*\n.*\n.*\n    max_tokens: 8192"),
    ],
)
def test_what_cannot_be_asked_ends_the_plan_and_the_run_before_they_start(entry, says, tmp_path):
    file, entry = tmp_path / "mine.yaml", {"alias": "m", "id": "claude-sonnet-4-6"} | entry
    study = {"preregistration": entry.pop("registration", None), "models": [entry]}
    file.write_text(yaml.safe_dump(study))
    with pytest.raises(UserError) as caught:
        check_models(LoadedStudy(None, [file]))
    assert re.search(says, str(caught.value))


def test_missing_shell_is_named_with_its_file_before_an_image_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "RESULTS", tmp_path)
    monkeypatch.setattr(preflight, "source_of", lambda shell: NONE)
    (sentence,) = preflight.missing_shells(LoadedStudy(None, []))
    assert file_name(SHELLS["pwsh"].install.archive) in sentence
    assert sentence.endswith("make image`; then run the same command again")


def test_hint_names_the_studys_files():
    assert LoadedStudy(None, []).command("report") == "make report"
    file = ROOT / "config/demo.yaml"
    assert LoadedStudy(None, [file]).command("report") == f"make report CONFIG={file}"


def test_missing_key_is_named_if_a_model_is_to_be_asked(store, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (sentence,) = missing_keys(made := estimate_cost(study_of(OPUS), TASKS, store))
    assert "export ANTHROPIC_API_KEY=" in sentence
    assert missing_keys(estimate_cost(study_of(OPUS), [], store)) == []
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert missing_keys(made) == []


def test_a_cheap_or_free_run_does_not_ask(store):
    dear = estimate_cost(study_of(OPUS), TASKS, store).most_usd
    assert agree(study_of(OPUS, budget={"confirm_usd": dear}), store, terminal=False) == (True, [])
    with pytest.raises(UserError):
        agree(study_of(OPUS, budget={"confirm_usd": dear * 0.99}), store, terminal=False)
    free = study_of(
        {"alias": "q", "id": "qwen", "served_by": "embedded"}, budget={"confirm_usd": 0}
    )
    assert agree(free, store, terminal=False) == (True, [])


def test_earlier_answer_without_usage_counts_at_its_most_in_the_next_run(
    store, tmp_path, monkeypatch
):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"models": [OPUS]}))
    loaded = LoadedStudy(None, [file])
    cell = loaded.cells[0]
    with Endpoint() as endpoint:
        endpoint.script("no-usage")
        first = generator_of(loaded.study, store, endpoint)
        ask(first, cell, requests_of(loaded.study, loaded.tasks, world_for)[cell].prompt)
        first.close()
    for module in (pipeline, preflight):
        monkeypatch.setattr(module, "ANSWERS", store.folder)
    second = pipeline.Pipeline(loaded.study.model_dump(), [file], None).generator()
    assert second.budget.spent_usd == first.budget.spent_usd > 1024 * 25 / 1e6
    second.close()


def task_with(folder, answer):
    shutil.copytree(ROOT / "tasks/tree-size-bytes", folder / "tree-size-bytes")
    (folder / "tree-size-bytes/answer.py").write_text(answer)
    return load_task(folder / "tree-size-bytes")


@pytest.mark.parametrize(
    "answer, says",
    [
        ("def expected(world, processes):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("raise OSError('no')\n", "answer raised OSError"),
        ("def expected(world, processes):\n    return 1 / (world.seed - 24)\n", "world 24"),
    ],
)
def test_an_answer_that_raises_is_named(tmp_path, answer, says):
    with pytest.raises(UserError, match="Hint:") as caught:
        check_answers([task_with(tmp_path, answer)], [11, 24])
    assert says in str(caught.value) and "answer.py" in str(caught.value)
