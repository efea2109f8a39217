"""One model's analysis in every state a study can be in, and its headline."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pandas as pd
import pytest

from fluency.analysis.decision_table import plan_for, plan_sha256
from fluency.analysis.gap import Interval
from fluency.analysis.power import sample_sizes
from fluency.analysis.study_analysis import analyse
from fluency.common.errors import UserError
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.table import to_frame
from fluency.report.numbers import signed
from tests.synthetic_tables import (
    from_counts,
    level_but_for,
    make_frame,
    make_rows,
    make_study,
    make_tasks,
)

TASKS = make_tasks()
STUDY = make_study()


def one(passes, study=STUDY, tasks=TASKS, **more):
    """The only model's only contrast."""
    (found,) = analyse(make_frame(study, tasks, passes, **more), study, tasks).contrasts
    return found


def test_refusals_above_a_tenth_missing():
    def lacking(count):
        lost = [task.id for task in TASKS[:count]]
        return lambda cell: (
            None if (cell.shell, cell.trial) == ("pwsh", 5) and cell.task in lost else True
        )

    assert one(lacking(10)).verdict.band == "falsified"
    refused = one(lacking(11))
    assert refused.gap and refused.verdict is None
    assert "11 of 100 cells in PowerShell 7" in refused.refused[0]


@pytest.mark.parametrize(
    "low, high, provisional", [(-7, 7, True), (6, 9, False), (7, 10, True), (5, 9, False)]
)
def test_provisional_by_every_row_between_the_bounds(low, high, provisional):
    """From -7 to +7 both ends are inconclusive, as the gap is, and noise lies between them."""
    model = one(level_but_for(TASKS, *[(2, 3)] * 7))
    held = {"ahead": model.gap.ahead, "size": model.gap.size}
    bounds = (SimpleNamespace(value=Fraction(end, 100), **held) for end in (low, high))
    assert replace(model.gap, worst=tuple(bounds)).provisional is provisional


@pytest.mark.parametrize(
    "pairs, provisional", [([(2, 3)] * 6, False), ([(0, 3), *[(2, 3)] * 4], True)]
)
def test_provisional_lead(pairs, provisional):
    """A missing run cannot change the row of either; the second lead needs it to be a pass."""
    mark = level_but_for(TASKS, *pairs)
    lost = ("task-20", "pwsh", 5)
    gap = one(lambda cell: None if (cell.task, cell.shell, cell.trial) == lost else mark(cell)).gap
    assert (gap.ahead, gap.band, gap.provisional) == ("challenger", "inconclusive", provisional)


def test_marks_say_how_each_trial_ended():
    marks = {1: True, 2: None, 3: "not_measured", 4: False, 5: True}
    frame = make_frame(STUDY, TASKS, lambda cell: marks[cell.trial], failure_class="timeout")
    found = analyse(frame, STUDY, TASKS).models[0].ends
    assert found["task-01", "bash"] == ["passed", "missing", "not_measured", "timeout", "passed"]


def test_verdict_needs_fifteen_tasks():
    assert one(lambda cell: True, tasks=make_tasks(15)).verdict
    assert one(lambda cell: True, tasks=make_tasks(14)).verdict is None


@pytest.mark.parametrize(
    "low, high, size",
    [
        (100, 200, "ten-or-more"),
        (-200, -100, "ten-or-more"),
        (99, 200, "open"),
        (-49, 49, "under-five"),
        (-50, 49, "under-ten"),
        (-49, 99, "under-ten"),
        (-49, 100, "open"),
    ],
)
def test_size_by_the_ends_of_the_interval(low, high, size):
    gap = one(level_but_for(TASKS, (2, 3))).gap
    interval = Interval(Fraction(low, 1000), Fraction(high, 1000))
    assert replace(gap, interval=interval).size == size


def test_narrow_interval_at_an_edge_says_what_it_shows():
    gap = one(lambda cell: True, tasks=make_tasks(60)).gap
    assert (gap.edge, gap.size, gap.supported) == ("ceiling", "under-five", True)
    few = one(lambda cell: True).gap
    assert (few.edge, few.size, few.supported) == ("ceiling", "under-ten", False)


def test_needed_tasks_know_the_floored_interval():
    """Near an edge the interval is wider, so that the same spread needs more tasks."""
    gap = one(level_but_for(TASKS, *[(0, 1)] * 3)).gap
    low = one(
        from_counts({task.id: (1, 0) if task.id < "task-06" else (0, 0) for task in TASKS})
    ).gap
    assert low.near_edge and low.needed.ahead > sample_sizes(low.spread).ahead
    assert not gap.near_edge and gap.needed == sample_sizes(gap.spread)


def test_quiet_wrong_answers_are_a_gap_of_their_own():
    """Quiet in Bash: failed trials of ten tasks; a missing cell is not a quiet one."""
    frame = make_frame(STUDY, TASKS, lambda cell: None if cell.trial == 1 else cell.trial < 4)
    quiet = frame["shell"].eq("bash") & frame["task"].le("task-10") & ~frame["passed"]
    frame["quiet"], frame["exit_ok"] = quiet, frame["passed"] | quiet | frame["task"].eq("task-20")
    (pair,) = analyse(frame, STUDY, TASKS).contrasts
    assert (pair.quiet.value, pair.quiet.paired.baseline.rate) == (Fraction(-1, 4), Fraction(1, 4))
    assert pair.status_0.paired.rates == (Fraction(11, 40), Fraction(1, 40))


def test_leave_out_names_parts_that_change_the_row():
    model = one(level_but_for(TASKS, *[(1, 3)] * 5))
    assert set(model.gap.leave_out().flips) == {f"task-0{i}" for i in range(1, 6)}
    assert model.gap.leave_out({task.id: task.category for task in TASKS}).flips == (
        "file-inspection",
    )
    assert model.gap.leave_out()[:2] == (Fraction(8, 5) / 19, Fraction(2) / 19)


def test_sensitivities_differ_by_definition():
    no_command = {"command": None, "made_of": None, "no_unix_tools_passed": None}
    by_trial = {
        1: no_command | {"outcome": "refusal", "windows_aliases_passed": None},
        2: {"lenient_passed": True, "windows_aliases_passed": True, "no_unix_tools_passed": None},
        3: {"exit_ok": True, "structural_pass": True, "failure_class": "missing-program"},
        4: {"content_ok": True},
        5: dict.fromkeys(("passed", "structural_pass", "no_unix_tools_passed"), True)
        | {"windows_aliases_passed": True, "made_of": "delegation"},
    }
    failed = dict.fromkeys(("structural_pass", "exit_ok", "content_ok"), False)
    failed |= {"failure_class": "silent-wrong"}
    changed = []
    for row in make_rows(STUDY, TASKS, lambda cell: False):
        pwsh = {"windows_aliases_passed": False} | by_trial[row.trial]
        more = pwsh if row.shell == "pwsh" else {"windows_aliases_passed": None}
        changed.append(row.model_copy(update=failed | more))
    model = analyse(to_frame(changed), STUDY, TASKS).contrasts[0]
    gaps = {line.name: line.estimate.paired.gap for line in model.sensitivities}
    assert gaps == {
        "headline": Fraction(1, 5),
        "lenient reading": Fraction(1, 5),
        "structure only": Fraction(2, 5),
        "exit only": Fraction(1, 5),
        "output only": Fraction(1, 5),
        "refusals left out": Fraction(1, 4),
        "delegation failed": Fraction(0),
        "missing programs left out": Fraction(1, 4),
        "missing programs passed": Fraction(2, 5),
        "without Unix tools": Fraction(1, 4),
        "with Windows aliases": Fraction(2, 5),
    }
    scored = {
        line.name: line.estimate.paired.challenger.total_scored for line in model.sensitivities
    }
    fewer = {"refusals left out", "missing programs left out", "without Unix tools"}
    assert scored == {name: 80 if name in fewer else 100 for name in gaps}


def test_analyse_refuses_a_measured_cell_without_a_mark():
    frame = make_frame(STUDY, TASKS, lambda cell: True)
    frame.loc[3, "passed"] = pd.NA
    with pytest.raises(UserError, match="model-x/bash/task-01/4"):
        analyse(frame, STUDY, TASKS)


def test_plan_hash_changes_with_the_plan():
    plan = plan_for(DESIGN_SHELLS)
    assert plan_sha256(plan) != plan_sha256(plan | {"alpha": 0.1})
    assert plan_sha256(plan) != plan_sha256(plan_for(DESIGN_SHELLS[::-1]))


@pytest.mark.parametrize(
    "gap, shown", [("0.1", "+10.0"), ("0.099999", "+9.9999"), ("-0.049999", "−4.9999")]
)
def test_signed_gap_stays_in_its_band(gap, shown):
    assert signed(Fraction(gap)) == shown
    assert signed(Fraction(0)) == signed(-0.00001) == "0.0"
