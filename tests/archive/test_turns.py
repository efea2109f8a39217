"""Archives of conversations: honest ones are proven, and each forgery of a history is altered."""

import json

import pytest

from fluency.archive.verify import verify_archive
from fluency.core.records import Request
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Cell
from fluency.core.table import load_records
from fluency.generation.conversation import AGAIN
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import put, record, verify_forged

TASK = "stale-lockfiles"
SECOND, THIRD = (f"results/generations/qwen-0.5b/bash/{TASK}/2.{turn}.json" for turn in (2, 3))
LAST = f"results/generations/qwen-0.5b/bash/{TASK}/1.3.json"


def reply(task, cell):
    """Trial 1 repeats what is right, 2 is repaired at its second turn and broken at its third."""
    right, wrong = task.references[cell.shell][0], task.wrong[cell.shell][0]
    return right if cell.trial == 1 or cell.turn == 2 else f"{wrong} # {cell.turn}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    study = make_study([TASK], turns=3)
    return make(tmp_path_factory.mktemp("study"), study, reply=reply)


@pytest.fixture(scope="module")
def archive(made, commit, tmp_path_factory):
    return archived(made, tmp_path_factory.mktemp("archive"), commit=commit)


def test_conversations_end_and_keep_their_verdict(made):
    found = {
        (row.shell, row.trial, row.turn): (row.passed, row.ended) for row in made.view().rows()
    }
    same, ends = (True, "same command"), [(False, None), (True, None), (False, None)]
    for shell in DESIGN_SHELLS:
        assert [found[shell, 1, turn] for turn in (1, 2, 3)] == [(True, None), (True, None), same]
        assert [found[shell, 2, turn] for turn in (1, 2, 3)] == ends
    cell = Cell("qwen-0.5b", "bash", TASK, "1.2")
    assert load_records(made.results, cell).execution.repeats
    # An ended turn costs nothing, and counts as no answer.
    provenance = json.loads((made.results / "made-up/provenance.json").read_text())
    assert provenance["sampling"]["qwen-0.5b"]["answers"] == 10 == provenance["messages"] + 4


def test_archive_of_conversations_is_proven(archive, at):
    at("own")
    report = verify_archive(archive)
    assert report.verdict() == "PROVEN", [*report.lines()]
    assert "0 of 6 messages show an earlier execution, as stated" in [*report.lines()]


def edited(name, *changes):
    """Edit a later turn's request, and what else the forger can make fit."""

    def edit(value):
        for keys, new in changes:
            put(*keys, value=new)(value)
        request = Request.model_validate(value["answer"]["request"])
        value["answer"]["request_key"] = request.key

    return record(name, edit)


MESSAGE = ("answer", "request", "follow_up")
SHOWN = ("answer", "request", "earlier", "shown")
FORGERIES = {
    "an invented answer": edited(SECOND, ((*MESSAGE, 0, "content"), "ls")),
    "another rendering": edited(SECOND, ((*MESSAGE, 1, "content"), f"It is wrong. {AGAIN}")),
    "another output": edited(SECOND, ((*SHOWN, "exit_code"), 7)),
    "another protocol": edited(SECOND, (("answer", "request", "earlier", "protocol"), 2)),
    "another order": record(THIRD, lambda value: value["answer"]["request"]["follow_up"].reverse()),
    "an earlier turn left out": record(
        THIRD, lambda value: value["answer"]["request"]["follow_up"].__delitem__(slice(0, 2))
    ),
    "ended without a reason": record(THIRD, lambda value: value.update(ended="same command")),
    "never ended": record(LAST, lambda value: value.pop("ended")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_history_is_altered(name, archive, at, tmp_path):
    at("own")
    report = verify_forged(archive, tmp_path, FORGERIES[name])
    assert report.verdict() == "ALTERED", [*report.lines()]


def test_turn_too_many_is_altered(archive, at, tmp_path):
    """An answer to a conversation that had ended."""
    at("own")

    def asked_again(files):
        name = next(name for name in files if name == LAST)
        value, later = json.loads(files[name]), json.loads(files[THIRD])
        value |= {"answer": later["answer"], "cost_usd": 0.0}
        value.pop("ended")
        files[name] = json.dumps(value).encode()

    assert verify_forged(archive, tmp_path, asked_again).verdict() == "ALTERED"


def test_later_execution_is_counted(archive, at, tmp_path):
    """What was shown is then as stated: a claim that docs/second-look.md names."""
    at("own")
    first = f"results/executions/qwen-0.5b/bash/{TASK}/2.json"
    later = record(first, put("provenance", "utc", value="2026-11-22T05:00:00Z"))
    report = verify_forged(archive, tmp_path, later)
    assert "1 of 6 messages show an earlier execution, as stated" in [*report.lines()]
    assert report.verdict() == "PROVEN", [*report.lines()]
