"""One model's analysis in every state a study can be in, and its headline."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pandas as pd
import pytest

from fluency.analysis.decision_table import bands_within, plan_for, plan_sha256
from fluency.analysis.gap import GapEstimate, Interval
from fluency.analysis.study_analysis import analyse
from fluency.common.errors import UserError
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.numbers import signed
from tests.synthetic_tables import (
    level_but_for,
    make_frame,
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


def test_marks_say_how_each_trial_ended():
    marks = {1: True, 2: None, 3: "not_measured", 4: False, 5: True}
    frame = make_frame(STUDY, TASKS, lambda cell: marks[cell.trial], failure_class="timeout")
    found = analyse(frame, STUDY, TASKS).models[0].ends
    assert found["task-01", "bash"] == ["passed", "missing", "not_measured", "timeout", "passed"]


def test_verdict_needs_fifteen_tasks():
    assert one(lambda cell: True, tasks=make_tasks(15)).verdict
    assert one(lambda cell: True, tasks=make_tasks(14)).verdict is None


def test_band_of_a_float_is_refused():
    """0.1 is not a tenth: a float may be on the other side of a band's edge."""
    with pytest.raises(TypeError, match="exact fractions"):
        bands_within(Fraction(0), 0.1)


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
def test_size_by_the_ends_of_the_interval(low, high, size, monkeypatch):
    gap = one(level_but_for(TASKS, (2, 3))).gap
    interval = Interval(Fraction(low, 1000), Fraction(high, 1000))
    monkeypatch.setattr(GapEstimate, "interval", interval)
    assert gap.size == size


def test_narrow_interval_at_an_edge_says_what_it_shows():
    gap = one(lambda cell: True, tasks=make_tasks(60)).gap
    assert (gap.edge, gap.size, gap.supported) == ("ceiling", "under-five", True)
    few = one(lambda cell: True).gap
    assert (few.edge, few.size, few.supported) == ("ceiling", "under-ten", False)


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
