"""The facts of a cell: sizes in the right unit, and the way a command ended."""

import pytest

from fluency.core.records import Paths, Result, Stream, TreeChanges, Used
from fluency.core.study import Cell
from fluency.report.cell_view import cell_view, run_facts
from fluency.report.words import attempt_note
from tests.report.explorer_factory import make_explorer

CELL = Cell("qwen-0.5b", "bash", "stale-lockfiles-0", 1)


def facts(**how):
    streams = {"stdout": Stream.of(b""), "stderr": Stream.of(b""), "used": Used()}
    return dict(
        map(tuple, run_facts(Result(**streams | {"exit_code": None, "wall_s": 0.25} | how)))
    )


@pytest.mark.parametrize(
    "how, ended",
    [
        ({"exit_code": 0}, "exit 0"),
        ({"exit_code": 137, "signal": 9}, "exit 137"),
        ({"signal": 9}, "signal 9"),
        ({"signal": 9, "timed_out": True}, "signal 9, timed out"),
        ({"spawn_error": "no such file"}, "did not start"),
        ({}, "no exit code"),
    ],
)
def test_run_facts_state_how_a_command_ended(how, ended):
    assert facts(**how)["Ended"] == ended


def test_facts_leave_out_the_ordinary():
    assert set(facts(exit_code=0)) == {"Ended", "Time to run"}
    shown = facts(
        exit_code=0, helpers_intact=False, tree_changed=True, leftover=["sleep"], spawn_error="why"
    )
    assert shown["Helper processes harmed"] == shown["Working folder changed"] == "yes"
    assert (shown["Left running"], shown["Not started"]) == ("sleep", "why")
    assert facts(used=Used(peak_memory_bytes=20_500_000))["Peak memory"] == "20.5 MB"
    assert attempt_note(1, True) is attempt_note(0, True) is None, "no command, no attempt"


def test_run_facts_list_changed_paths():
    none = Paths(count=0, paths=[])
    made = Paths(count=60, paths=[f"f{n:02}" for n in range(50)])
    removed = Paths(count=1, paths=["a\nb"])
    changes = TreeChanges(created=made, changed=none, removed=removed, bytes=61_440, complete=False)
    said = facts(exit_code=0, tree_changed=True, changes=changes)["Working folder changed"]
    assert said.startswith("60 created: f00, f01, ")
    assert said.endswith("f19, …; 1 removed: a\nb; not everything was examined")


def test_cell_view_of_an_unjudged_command():
    made = make_explorer(1, 1, 1, states={CELL.path: "non-zero-exit"})
    records = made.load(CELL)._replace(score=None)
    for run in cell_view(CELL, records, None)["runs"]:
        assert (run["passed"], run["why"], run["diff"]) == (None, "not judged", None)
        assert run["stdout"]
