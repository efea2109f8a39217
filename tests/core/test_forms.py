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


def provenance(document):
    return parse_provenance(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("read", "place", "names"),
    [
        (Generation.model_validate, "generations", ["request_key", "task_sha256", "received_utc"]),
        (Execution.model_validate, "executions", ["request_key", "world_sha256", "content_sha256", "packages_sha256"]),
        (Score.model_validate, "scores", ["request_key", "task_sha256"]),
        (provenance, "*/provenance.json", ["commit", "lock_sha256", "first_answer_utc", "ended_utc"]),
    ],
)
def test_a_record_with_another_form_is_none(read, place, names, made):
    document = document_of(made, place)
    assert read(document)
    for name in names:
        found = next(places(document, name), (name,))
        for text in OTHERS:
            with pytest.raises(ValueError):
                read(changed(document, found, text))


def document_of(made, place):
    files = made.results.glob(place) if place.endswith(".json") else (made.results / place).rglob("*.json")
    document = json.loads(next(files).read_text())
    document.pop("sha256", None)
    return document


def test_a_price_of_another_form_is_none(made):
    document = document_of(made, "generations")
    price = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0, "dated": "2026-11-21"}
    assert Generation.model_validate(document | {"price": price})
    for other in (price | {"dated": None}, price | {"output_usd_per_mtok": -1}, price | {"more": 1}, {}):
        with pytest.raises(ValueError):
            Generation.model_validate(document | {"price": other})
