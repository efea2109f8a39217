"""The provenance: collected from the records alone, the same after the disk."""

import json
import re

import pytest

from fluency.common.errors import UserError
from fluency.common.git import git_state
from fluency.common.source_hash import library_versions
from fluency.core.provenance import (
    Provenance,
    ProvenanceCollector,
    Sampling,
    of_checkout,
    read_provenance,
)
from fluency.core.records import Execution, Generation, Score
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.table import CellRecords, load_records
from tests.archive.factory import make, make_study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    study = make_study(("stale-lockfiles",), models=2, decision="which")
    return make(tmp_path_factory.mktemp("study"), study)


def collected(made, change=lambda records: records, start_up_s=None) -> Provenance:
    def load(cell) -> CellRecords:
        return change(load_records(made.results, cell))

    collector = ProvenanceCollector(made.study)
    for cell in made.cells:
        collector.add(load(cell))
    return collector.provenance(made.tasks, start_up_s or {}, **of_checkout([]))


def test_provenance_states_what_was_measured(made):
    provenance = collected(made, start_up_s={"bash": 0.5})
    records = [load_records(made.results, cell) for cell in made.cells]
    execution, answer = records[0].execution, records[0].generation.answer
    assert execution.image in provenance.images and provenance.engines == [execution.engine]
    assert [[*image.shells] for image in provenance.images] == [[*DESIGN_SHELLS], ["bash"]]
    assert provenance.limits == [made.study.sandbox.limits]
    assert provenance.conditions == ["as_designed", "no_unix_tools"]
    assert provenance.worlds == {str(run.seed): [run.world_sha256] for run in execution.runs}
    assert provenance.task_sha256 == {"stale-lockfiles": made.tasks[0].sha256}
    assert provenance.started_utc == "2026-11-22T01:02:03.456Z"
    assert provenance.ended_utc == "2026-11-22T01:02:03Z"
    assert provenance.start_up_s == {"bash": 0.5}
    assert (provenance.registration, provenance.deviations) == (None, [])
    assert provenance.decision == "which"
    assert (provenance.commit, provenance.dirty) == git_state() and provenance.spent_usd == 0.0
    sent = provenance.sampling["model-2"]
    assert (sent.id, sent.echoed) == (["model-2"], ["model-2"])
    assert (sent.temperature_requested, sent.temperature_sent) == (["0.7"], ["0.7"])
    assert sent.max_tokens == [512]
    assert (sent.thinking, sent.effort, sent.extra_body) == ([None], [], [{}])
    assert sent.headers == [answer.request.headers]
    assert (sent.wire, sent.server, sent.client) == (["chat"], ["embedded"], ["none"])
    assert (sent.answers, sent.input_tokens, sent.output_tokens) == (4, 480, 120)
    assert sent.cost_usd == 0.0
    assert [price.output_usd_per_mtok for price in sent.price] == [0.0]


def test_provenance_lists_differing_runs(made):
    def change(records: CellRecords) -> CellRecords:
        execution = records.execution
        if execution.cell.trial == 1:
            return records
        other = {
            "image": execution.image.model_copy(update={"image_id": "sha256:22"}),
            "engine": {"name": "another"},
            "limits": execution.limits.model_copy(update={"pids": 64}),
        }
        early = {"received_utc": "2026-11-21T00:00:00Z"}
        answer = records.generation.answer.model_copy(update=early)
        paid = records.generation.model_copy(update={"answer": answer, "cost_usd": 0.5})
        return CellRecords(paid, execution.model_copy(update=other), records.score)

    provenance = collected(made, change)
    assert {image.image_id for image in provenance.images} == {"sha256:" + "1f" * 32, "sha256:22"}
    assert [engine["name"] for engine in provenance.engines] == ["another", "made up"]
    assert sorted(limits.pids for limits in provenance.limits) == [64, 256]
    assert (provenance.first_answer_utc, provenance.spent_usd) == ("2026-11-21T00:00:00Z", 2.0)


def test_provenance_of_nothing_measured_is_empty(made):
    provenance = collected(made, lambda records: CellRecords(None, None, None))
    assert provenance.images == provenance.engines == provenance.limits == []
    assert provenance.spent_usd is None and provenance.started_utc is None
    assert provenance.sampling["model-2"] == Sampling()


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"schema_version": 99}', b'{"worlds": {"11": 3}}', b"[" * 100_000],
    ids=lambda data: repr(data[:24]),
)
def test_read_provenance_refuses_other_content(data, tmp_path):
    (tmp_path / "provenance.json").write_bytes(data)
    with pytest.raises(UserError) as caught:
        read_provenance(tmp_path / "provenance.json")
    assert "provenance.json" in caught.value.where


def test_library_versions_names_absent_library():
    """The embedded model's library has no wheel for some platforms; other models do not need it."""
    assert library_versions(["no-such-library"]) == {"no-such-library": "absent"}


OTHERS = ["", "x", "../x", "A" * 64, "0" * 63, "0" * 64 + "\n", "\x1b[2J" + "0" * 60]


@pytest.mark.parametrize(
    "kind, place, names",
    [
        (Generation, "/generations/", ["request_key", "task_sha256", "received_utc"]),
        (Execution, "/executions/", ["request_key", "world_sha256", "content_sha256"]),
        (Score, "/scores/", ["request_key", "task_sha256"]),
        (Provenance, "/provenance.json", ["commit", "lock_sha256", "first_answer_utc"]),
    ],
)
def test_record_refuses_malformed_hash_or_time(kind, place, names, made):
    text = next(path for path in made.results.rglob("*.json") if place in str(path)).read_text()
    assert kind.model_validate_json(text)
    for name in names:
        before, value, after = re.split(rf'(?<="{name}": )("[^"]*"|null)', text, maxsplit=1)
        assert value
        for other in map(json.dumps, OTHERS):
            with pytest.raises(ValueError):
                kind.model_validate_json(before + other + after)
