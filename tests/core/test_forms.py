"""What has a form in a record is of that form, or there is no record."""

import json

import pytest

from fluency.core.provenance import parse_provenance
from fluency.core.records import Execution, Generation, Score
from tests.archive.factory import make, make_study

OTHERS = ["", "x", "../x", "A" * 64, "0" * 63, "0" * 64 + "\n", "\x1b[2J" + "0" * 60]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("study"), make_study(("stale-lockfiles",)))


def places(value, name, path=()):
    """Where a key of this name stands in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        if key == name and isinstance(item, str):
            yield (*path, key)
        yield from places(item, name, (*path, key))


def changed(document, path, text):
    copy = json.loads(json.dumps(document))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = text
    return copy


@pytest.mark.parametrize(
    ("kind", "stage", "names"),
    [
        (Generation, "generations", ["request_key", "task_sha256", "received_utc"]),
        (Execution, "executions", ["request_key", "world_sha256", "content_sha256", "packages_sha256"]),
        (Score, "scores", ["request_key", "task_sha256"]),
    ],
)
def test_a_record_with_another_form_is_none(kind, stage, names, made):
    document = json.loads(next((made.results / stage).rglob("*.json")).read_text())
    document.pop("sha256", None)
    assert kind.model_validate(document)
    for name in names:
        found = list(places(document, name))
        assert found, name
        for text in OTHERS:
            with pytest.raises(ValueError):
                kind.model_validate(changed(document, found[0], text))


@pytest.mark.parametrize("name", ["commit", "lock_sha256", "first_answer_utc", "ended_utc"])
def test_a_provenance_with_another_form_is_none(name, made):
    document = json.loads((made.results / made.study.study / "provenance.json").read_text())
    document.pop("sha256", None)
    assert parse_provenance(json.dumps(document).encode())
    for text in OTHERS:
        with pytest.raises(ValueError):
            parse_provenance(json.dumps(document | {name: text}).encode())


def test_a_price_of_another_form_is_none(made):
    document = json.loads(next((made.results / "generations").rglob("*.json")).read_text())
    document.pop("sha256", None)
    price = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0, "dated": "2026-11-21"}
    assert Generation.model_validate(document | {"price": price})
    for other in (price | {"dated": None}, price | {"output_usd_per_mtok": -1}, price | {"more": 1}, {}):
        with pytest.raises(ValueError):
            Generation.model_validate(document | {"price": other})
