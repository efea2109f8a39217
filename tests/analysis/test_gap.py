"""The gap, its intervals and changes: by hand, against other programs, by their own symmetry.

The intervals are recomputed in tests/report/test_claims.py.
"""

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.analysis.changes import rate_changes
from fluency.analysis.gap import estimate_gap, task_interval
from fluency.analysis.outcomes import Outcomes, ShellPasses, count_cells, count_outcomes
from fluency.analysis.study_analysis import analyse
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.templates import render
from tests.synthetic_tables import (
    contrasted,
    from_counts,
    make_frame,
    make_study,
    make_tasks,
    random_passes,
)


def outcomes(bash, pwsh, trials=5) -> Outcomes:
    counts = [
        ShellPasses(tuple(c for c, _ in shell), tuple(n for _, n in shell))
        for shell in (bash, pwsh)
    ]
    return contrasted(*counts, trials=trials)


def test_paired_weighs_tasks_equally_and_needs_half_of_the_trials():
    unequal = outcomes([(0, 3), (5, 5)], [(3, 3), (5, 5)]).paired()
    assert unequal.gap == Fraction(1, 2)
    assert [*map(sum, unequal.by_shell["bash"])] == [5, 8]
    paired = outcomes([(1, 3), (1, 2), (0, 5)], [(3, 3), (2, 5), (0, 2)]).paired()
    assert paired.tasks == ("t0",) and paired.gap == Fraction(2, 3)
    assert outcomes([(1, 1)], [(0, 1)], trials=1).paired().gap == -1
    assert outcomes([(1, 1)], [(0, 1)], trials=2).paired().gap == -1
    assert outcomes([(0, 0)], [(1, 1)], trials=1).paired() is None


def test_counts_refuse_rows_of_two_models():
    study, tasks = make_study(("model-x", "model-y")), make_tasks(4)
    frame = make_frame(study, tasks, random_passes())
    ids = tuple(task.id for task in tasks)
    with pytest.raises(ValueError, match="never pooled"):
        count_outcomes(frame, ids, 5, DESIGN_SHELLS)


def test_count_cells_counts_the_design_only():
    study, tasks = make_study(), make_tasks(2)
    marks = {1: True, 2: True, 3: None, 4: "not_measured", 5: False}
    frame = make_frame(study, tasks, lambda cell: marks[cell.trial])
    frame = frame[frame["task"].ne("task-01") | frame["trial"].ne(5)]
    foreign = [frame[:1].assign(trial=0), frame[:1].assign(trial=6), frame[:1].assign(task="x")]
    ids = [task.id for task in tasks]
    tally = count_cells(pd.concat([frame, *foreign]), "bash", ids, 5)
    assert tally[:4] == (10, 5, 3, 2)
    assert tally.reasons[0][1] == 2 and tally.reasons[2] == ("no row in the cells table", 1)
    assert not tally.cannot_run and tally._replace(measured=0).cannot_run


rates = st.sampled_from([Fraction(c, n) for n in (3, 4, 5) for c in range(n + 1)])
differences = st.lists(
    st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0]), min_size=1, max_size=20
)


@given(differences, st.booleans(), st.sampled_from([1, 2]))
def test_task_interval_mirrors_and_ignores_order(values, near_edge, reach):
    how = {"near_edge": near_edge, "reach": reach}
    values = [value * reach for value in values]
    one = task_interval(values, **how)
    other = task_interval([-value for value in values], **how)
    assert one == (-other.high, -other.low) == task_interval(values[::-1], **how)
    assert -reach <= one.low <= one.high <= reach and one.low < one.high
    assert all((1000 * end).denominator == 1 for end in one), "as printed"
    assert one.low - Fraction(1, 1000) <= sum(values) / len(values) <= one.high + Fraction(1, 1000)


def test_task_interval_of_a_single_task_is_the_floored_one():
    assert task_interval([Fraction(1)])[1] == 1


def outcomes_of(counts):
    """Outcomes from (passes, scored) of both shells, task by task."""
    return outcomes(*map(list, zip(*counts, strict=True)))


CELL = st.integers(0, 5).flatmap(lambda scored: st.tuples(st.integers(0, scored), st.just(scored)))


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_unmeasured_trials_go_once_against_the_challenger_and_once_for_it(counts):
    found = outcomes_of(counts)
    ends = found.completed()
    assert len(ends) == 2 * any(scored < 5 for pair in counts for _, scored in pair)
    for end, gains in zip(ends, DESIGN_SHELLS, strict=False):
        for shell, own in end.by_shell.items():
            was = found.by_shell[shell]
            missing = [(shell == gains) * (5 - scored) for scored in was.scored]
            assert own.scored == (5,) * len(counts)
            assert [a - b for a, b in zip(own.passes, was.passes, strict=True)] == missing


@pytest.mark.parametrize("at_edge", DESIGN_SHELLS)
@pytest.mark.parametrize(("edge", "step"), ((0, 1), (5, -1)))
def test_one_shell_at_an_edge_floors_the_interval(at_edge, edge, step):
    counts = {shell: [(edge + step, 5)] * 19 + [(edge + 2 * step, 5)] for shell in DESIGN_SHELLS}
    counts[at_edge] = [(edge, 5)] * 20
    gap = estimate_gap(outcomes(*counts.values()))
    apart = gap.paired.differences
    assert gap.near_edge
    assert gap.interval == task_interval(apart, near_edge=True) != task_interval(apart)


COUNTS = st.integers(1, 8).flatmap(
    lambda size: st.tuples(*[st.lists(st.tuples(CELL, CELL), min_size=size, max_size=size)] * 2)
)


@given(COUNTS)
@settings(max_examples=60, deadline=None)
def test_rate_changes_swap_their_sign_and_are_not_certain(both):
    a, b = map(outcomes_of, both)
    there, back = rate_changes(a, b, [DESIGN_SHELLS]), rate_changes(b, a, [DESIGN_SHELLS])
    for one, other in zip(there, back, strict=True):
        assert (one.what, one.tasks, one.differing) == (other.what, other.tasks, other.differing)
        assert one.change == -other.change
        assert one.interval == (-other.interval.high, -other.interval.low)
    for line in rate_changes(a, a, [DESIGN_SHELLS]):
        assert line.change == 0 and line.interval.low < 0 < line.interval.high


def test_rate_changes_take_tasks_measured_in_all_shells():
    a = outcomes_of([((1, 5), (1, 5)), ((0, 5), (0, 2)), ((2, 5), (2, 5))])
    b = outcomes_of([((3, 5), (1, 5)), ((5, 5), (5, 5)), ((2, 5), (2, 2))])
    bash, pwsh, gap = rate_changes(a, b, [DESIGN_SHELLS])
    assert (bash.tasks, pwsh.tasks, gap.tasks) == (3, 1, 1)
    assert (bash.before, bash.after) == (Fraction(1, 5), Fraction(2, 3))
    assert bash.change == Fraction(7, 15)
    assert (pwsh.change, gap.change) == (0, Fraction(-2, 5))
    assert rate_changes(a, outcomes_of([((0, 0), (0, 0))] * 3), [DESIGN_SHELLS]) == []
    with pytest.raises(ValueError, match="not of one design"):
        rate_changes(a, outcomes_of([((1, 5), (1, 5))]), [DESIGN_SHELLS])


def test_alias_pairs_are_of_one_model_id():
    tool = {"alias": "as-tool", "id": "x", "interface": "tool"}
    study = make_study([tool, {"alias": "as-reply", "id": "x"}, "another"])
    tasks = make_tasks(10)
    frame = make_frame(study, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    tool = frame["model"].eq("as-tool") & frame["shell"].eq("bash") & frame["trial"].le(4)
    frame.loc[tool, "passed"] = True
    analysis = analyse(frame, study, tasks)
    ((first, second, changes),) = analysis.pairs
    assert (first.alias, second.alias, first.id) == ("as-reply", "as-tool", "x")
    assert [line.change for line in changes] == [Fraction(2, 5), 0, Fraction(-2, 5)]
    written = render(
        "sections/changes.md.j2", {"changes": changes, "names": (first.alias, second.alias)}
    )
    assert "as-reply" in written and "+40.0" in written and "−40.0" in written
    alone = make_study("ab")
    frame = make_frame(alone, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    assert analyse(frame, alone, tasks).pairs == []
