"""Two aliases of one model id: the comparison is antisymmetric, nothing where both did the same, and what others compute."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from fluency.analysis.outcomes import Outcomes, PoolingError, ShellPasses
from fluency.analysis.study_analysis import analyse
from fluency.analysis.subgroups import compare_aliases
from fluency.core.study import Study
from fluency.report.tables import pair_tables
from tests.synthetic_tables import from_counts, make_frame, make_tasks

TRIALS = 5
CONTRAST = ("bash", "pwsh")


def outcomes_of(model, counts):
    """One model's outcomes from (passes, scored) of both shells, task by task."""
    by_shell = {
        shell: ShellPasses(
            tuple(task[i][0] for task in counts), tuple(task[i][1] for task in counts)
        )
        for i, shell in enumerate(CONTRAST)
    }
    tasks = tuple(f"task-{n}" for n in range(len(counts)))
    return Outcomes(model, tasks, TRIALS, by_shell, CONTRAST)


CELL = st.integers(0, TRIALS).flatmap(
    lambda scored: st.tuples(st.integers(0, scored), st.just(scored))
)
WHOLE = st.tuples(st.integers(0, TRIALS), st.just(TRIALS))


def counts(cell):
    return st.integers(1, 8).flatmap(
        lambda size: st.tuples(*[st.lists(st.tuples(cell, cell), min_size=size, max_size=size)] * 2)
    )


@given(counts(CELL))
@settings(max_examples=60, deadline=None)
def test_the_other_way_round_everything_has_the_other_sign(both):
    a, b = (outcomes_of(name, made) for name, made in zip("ab", both, strict=True))
    there, back = compare_aliases(a, b), compare_aliases(b, a)
    for one, other in zip(there.differences, back.differences, strict=True):
        assert (one.name, one.tasks) == (other.name, other.tasks)
        if one.value is None:
            assert other.value is None and one.interval is None
            continue
        assert one.value == -other.value
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-12)
        assert one.interval[0] - 1e-12 <= one.value <= one.interval[1] + 1e-12


@given(counts(CELL))
@settings(max_examples=30, deadline=None)
def test_equal_answers_differ_by_nothing_and_that_is_not_certain(both):
    a, b = (outcomes_of(name, both[0]) for name in "ab")
    for line in compare_aliases(a, b).differences:
        assert line.value in (0, None)
        assert line.value is None or (line.floored and line.interval[0] < 0 < line.interval[1])


@given(counts(WHOLE))
@settings(max_examples=60, deadline=None)
def test_it_is_what_another_way_computes(both):
    a, b = (outcomes_of(name, made) for name, made in zip("ab", both, strict=True))
    by_task = {
        shell: [(y[place][0] - x[place][0]) / TRIALS for x, y in zip(*both, strict=True)]
        for place, shell in enumerate(CONTRAST)
    }
    by_task["gap"] = [p - q for p, q in zip(by_task["pwsh"], by_task["bash"], strict=True)]
    found = compare_aliases(a, b).differences
    assert [line.name for line in found] == list(by_task)
    for line, differences in zip(found, by_task.values(), strict=True):
        assert float(line.value) == pytest.approx(sum(differences) / len(differences))
        if not line.floored:
            most = 2 if line.name == "gap" else 1
            rates = [
                counts.total_passes / counts.total_scored
                for o in (a, b)
                for counts in o.by_shell.values()
            ]
            low, high = np.clip(ttest_1samp(differences, 0).confidence_interval(0.95), -most, most)
            assert line.interval.low <= low + 1e-9 and line.interval.high >= high - 1e-9
            if all(0.1 < rate < 0.9 for rate in rates):
                assert line.interval == pytest.approx((low, high))
    assert found[2].value == found[1].value - found[0].value  # where all is measured


def test_a_task_enters_where_all_its_shells_were_measured():
    a = outcomes_of("a", [((1, 5), (1, 5)), ((0, 5), (0, 2)), ((2, 5), (2, 5))])
    b = outcomes_of("b", [((3, 5), (1, 5)), ((5, 5), (5, 5)), ((2, 5), (2, 2))])
    bash, pwsh, gap = compare_aliases(a, b).differences
    assert (bash.tasks, pwsh.tasks, gap.tasks) == (3, 1, 1)
    assert (bash.value, bash.rates) == (Fraction(7, 15), (Fraction(1, 5), Fraction(2, 3)))
    assert (pwsh.value, gap.value) == (0, Fraction(-2, 5))
    nothing = compare_aliases(a, outcomes_of("b", [((0, 0), (0, 0))] * 3))
    assert all(
        (line.value, line.interval, line.tasks) == (None, None, 0) for line in nothing.differences
    )


def test_other_tasks_or_shells_are_not_compared():
    a, b = outcomes_of("a", [((1, 5), (1, 5))]), outcomes_of("b", [((1, 5), (1, 5))] * 2)
    with pytest.raises(PoolingError):
        compare_aliases(a, b)


def study_of(*models):
    return Study.model_validate({"study": "pairs", "trials": TRIALS, "models": list(models)})


def test_the_report_pairs_aliases_of_one_id_and_no_others():
    tool = {"alias": "as-tool", "id": "x", "interface": "tool"}
    study = study_of(tool, {"alias": "as-reply", "id": "x"}, {"alias": "another", "id": "y"})
    tasks = make_tasks(10)
    frame = make_frame(study, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    tool = frame["model"].eq("as-tool") & frame["shell"].eq("bash") & frame["trial"].le(4)
    frame.loc[tool, "passed"] = True
    analysis = analyse(frame, study, tasks)
    (pair,) = analysis.pairs
    assert (pair.first, pair.second, pair.model_id) == ("as-reply", "as-tool", "x")
    assert [line.value for line in pair.differences] == [Fraction(2, 5), 0, Fraction(-2, 5)]
    written = pair_tables(analysis)
    assert "as-reply" in written and "another" not in written
    assert "+40.0" in written and "−40.0" in written and "widened" in written
    alone = study_of({"alias": "a", "id": "x"}, {"alias": "b", "id": "y"})
    frame = make_frame(alone, tasks, from_counts({task.id: (2, 3) for task in tasks}))
    assert analyse(frame, alone, tasks).pairs == ()
