"""Drift by hand and by its properties: every answer once, in order, whatever the order of the rows."""

from __future__ import annotations

import pytest

from fluency.analysis.descriptive import TIME_SLICES, drift
from fluency.core.table import to_frame
from tests.synthetic_tables import make_frame, make_rows, make_study, make_tasks, random_passes

TASKS = make_tasks(6)
STUDY = make_study(trials=4)
SHELLS = ["bash", "pwsh"]


def test_every_measured_answer_is_in_one_stretch_and_time_only_goes_on() -> None:
    frame = make_frame(STUDY, TASKS, random_passes())
    found = drift(frame, SHELLS)
    sizes = [sum(shell.scored for shell in stretch.by_shell.values()) for stretch in found]
    assert len(found) == TIME_SLICES and sum(sizes) == len(frame) and max(sizes) - min(sizes) <= 1
    assert sum(shell.passes for stretch in found for shell in stretch.by_shell.values()) == frame["passed"].sum()
    times = [time for stretch in found for time in (stretch.first_utc, stretch.last_utc)]
    assert times == sorted(times)
    assert drift(frame.iloc[::-1], SHELLS) == found


def test_a_service_that_slows_down_and_gets_worse_is_seen_in_both_shells() -> None:
    slowing = [
        row.model_copy(update={"t_gen_s": float(row.trial)}) for row in make_rows(STUDY, TASKS, lambda c: c.trial < 4)
    ]
    found = drift(to_frame(slowing), SHELLS)
    for shell in SHELLS:
        assert [stretch.by_shell[shell].t_gen for stretch in found] == [1, 2, 3, 4]
        assert [stretch.by_shell[shell].passes for stretch in found] == [6, 6, 6, 0]


@pytest.mark.parametrize("answers", [0, 1, 3])
def test_few_answers_make_few_stretches(answers: int) -> None:
    frame = make_frame(STUDY, TASKS, lambda cell: True).head(answers)
    if answers == 0:
        frame = make_frame(STUDY, TASKS, lambda cell: True, asked_utc=None)
    assert len(drift(frame, SHELLS)) == answers


def test_batches_have_no_time_of_generation() -> None:
    found = drift(make_frame(STUDY, TASKS, lambda cell: True, t_gen_s=None), SHELLS)
    assert {shell.t_gen for stretch in found for shell in stretch.by_shell.values()} == {None}
