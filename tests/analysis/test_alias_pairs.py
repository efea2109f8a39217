"""Two aliases of one model id; the intervals themselves are recomputed in test_claims.py."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.analysis.changes import rate_changes
from fluency.analysis.outcomes import PoolingError
from fluency.analysis.study_analysis import analyse
from fluency.core.study import Study
from fluency.report.tables import change_table
from tests.analysis.test_gap import outcomes
from tests.synthetic_tables import from_counts, make_frame, make_tasks

TRIALS = 5


def outcomes_of(counts):
    """Outcomes from (passes, scored) of both shells, task by task."""
    return outcomes(*map(list, zip(*counts, strict=True)))


CELL = st.integers(0, TRIALS).flatmap(
    lambda scored: st.tuples(st.integers(0, scored), st.just(scored))
)


COUNTS = st.integers(1, 8).flatmap(
    lambda size: st.tuples(*[st.lists(st.tuples(CELL, CELL), min_size=size, max_size=size)] * 2)
)


@given(COUNTS)
@settings(max_examples=60, deadline=None)
def test_rate_changes_swap_their_sign(both):
    a, b = map(outcomes_of, both)
    there, back = rate_changes(a, b), rate_changes(b, a)
    for one, other in zip(there, back, strict=True):
        assert (one.what, one.tasks, one.differing) == (other.what, other.tasks, other.differing)
        assert one.change == -other.change
        assert one.interval == (-other.interval.high, -other.interval.low)


@given(COUNTS)
@settings(max_examples=30, deadline=None)
def test_rate_changes_of_equal_answers_are_not_certain(both):
    for line in rate_changes(outcomes_of(both[0]), outcomes_of(both[0])):
        assert line.change == 0 and line.interval.low < 0 < line.interval.high


def test_rate_changes_take_tasks_measured_in_all_shells():
    a = outcomes_of([((1, 5), (1, 5)), ((0, 5), (0, 2)), ((2, 5), (2, 5))])
    b = outcomes_of([((3, 5), (1, 5)), ((5, 5), (5, 5)), ((2, 5), (2, 2))])
    bash, pwsh, gap = rate_changes(a, b)
    assert (bash.tasks, pwsh.tasks, gap.tasks) == (3, 1, 1)
    assert (bash.before, bash.after) == (Fraction(1, 5), Fraction(2, 3))
    assert bash.change == Fraction(7, 15)
    assert (pwsh.change, gap.change) == (0, Fraction(-2, 5))
    assert rate_changes(a, outcomes_of([((0, 0), (0, 0))] * 3)) == []


def test_rate_changes_refuse_other_tasks():
    a, b = outcomes_of([((1, 5), (1, 5))]), outcomes_of([((1, 5), (1, 5))] * 2)
    with pytest.raises(PoolingError):
        rate_changes(a, b)


def study_of(*models):
    return Study.model_validate({"study": "pairs", "trials": TRIALS, "models": list(models)})


def test_alias_pairs_are_of_one_model_id():
    tool = {"alias": "as-tool", "id": "x", "interface": "tool"}
    study = study_of(tool, {"alias": "as-reply", "id": "x"}, {"alias": "another", "id": "y"})
    tasks = make_tasks(10)
    frame = make_frame(study, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    tool = frame["model"].eq("as-tool") & frame["shell"].eq("bash") & frame["trial"].le(4)
    frame.loc[tool, "passed"] = True
    analysis = analyse(frame, study, tasks)
    (pair,) = analysis.pairs
    assert (pair.first, pair.second, pair.model_id) == ("as-reply", "as-tool", "x")
    assert [line.change for line in pair.changes] == [Fraction(2, 5), 0, Fraction(-2, 5)]
    written = change_table(pair.changes, (pair.first, pair.second))
    assert "as-reply" in written and "+40.0" in written and "−40.0" in written
    alone = study_of({"alias": "a", "id": "x"}, {"alias": "b", "id": "y"})
    frame = make_frame(alone, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    assert analyse(frame, alone, tasks).pairs == []
