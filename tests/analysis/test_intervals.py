"""Intervals against other programs and against their own symmetry."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from fluency.analysis.gap import clopper_pearson, estimate_gap, task_interval
from tests.analysis.test_gap import outcomes

rates = st.sampled_from([Fraction(c, n) for n in (3, 4, 5) for c in range(n + 1)])
differences = st.lists(
    st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0]), min_size=1, max_size=20
)


@given(differences, st.booleans(), st.sampled_from([1, 2]))
def test_task_interval_mirrors_and_ignores_order(values, near_edge, reach) -> None:
    how = {"near_edge": near_edge, "reach": reach}
    values = [value * reach for value in values]
    one = task_interval(values, **how)
    other = task_interval([-value for value in values], **how)
    assert one == (-other.high, -other.low) == task_interval(values[::-1], **how)
    assert -reach <= one.low <= one.high <= reach and one.low < one.high
    assert all((1000 * end).denominator == 1 for end in one), "as printed"
    assert one.low - Fraction(1, 1000) <= sum(values) / len(values) <= one.high + Fraction(1, 1000)


@pytest.mark.parametrize("seed", range(3))
def test_task_interval_is_scipys_paired_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bash, pwsh = (rng.binomial(5, rng.random(20)) for _ in range(2))
    steps = [Fraction(int(step), 5) for step in pwsh - bash]
    theirs = scipy.stats.ttest_rel(pwsh / 5, bash / 5).confidence_interval(0.95)
    assert task_interval(steps) == pytest.approx((theirs.low, theirs.high), abs=0.00051)


def test_task_interval_is_floored_near_an_edge_where_wider() -> None:
    level = task_interval([Fraction(0)] * 20)
    assert level == (Fraction(-68, 1000), Fraction(68, 1000))
    assert task_interval([Fraction(0)] * 20, reach=2) == (Fraction(-137, 1000), Fraction(137, 1000))
    one = [Fraction(1, 5), *[Fraction(0)] * 19]
    assert task_interval(one, near_edge=True).low < task_interval(one).low
    apart = [Fraction(1), Fraction(-1)] * 10
    assert task_interval(apart, near_edge=True) == task_interval(apart)
    assert task_interval([Fraction(1)])[1] == 1, "a single task has the floored one"


def fixed(
    bash: list[tuple[int, int]], pwsh: list[tuple[int, int]], trials: int = 5
) -> float | None:
    return estimate_gap(outcomes(bash, pwsh, trials)).fixed


def test_fixed_task_interval_by_hand() -> None:
    half = fixed([(1, 5), (5, 5)], [(4, 5), (2, 3)])
    variance = 0.2 * 0.8 / 4 + 0.8 * 0.2 / 4 + (2 / 3) * (1 / 3) / 2
    assert half == pytest.approx(1.959964 * variance**0.5 / 2, rel=1e-6)


def test_fixed_task_interval_of_one_trial_and_without_variation() -> None:
    assert fixed([(1, 1)], [(0, 1)], trials=1) is None and fixed([(0, 5)], [(5, 5)]) == 0.0
    assert fixed([(0, 1)], [(5, 5)], trials=1) is None


def test_fixed_task_interval_leaves_dropped_tasks_out() -> None:
    with_it = fixed([(1, 5), (1, 2)], [(4, 5), (1, 2)])
    assert with_it == fixed([(1, 5)], [(4, 5)])


@pytest.mark.parametrize(("successes", "size"), [(0, 20), (3, 20), (20, 20), (7, 9)])
def test_clopper_pearson_is_statsmodels_beta_interval(successes: int, size: int) -> None:
    theirs = proportion_confint(successes, size, method="beta")
    assert clopper_pearson(successes, size) == pytest.approx(theirs, abs=1e-9)
