"""Intervals and shares against other programs, against counting everything, and against their own symmetry."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from fluency.analysis.intervals import (
    band_shares,
    clopper_pearson,
    fixed_task_halfwidth,
    floored_interval,
    t_interval,
)
from fluency.analysis.outcomes import integers, pair_by_task
from fluency.analysis.plan import BANDS, RESAMPLE_SEED
from tests.analysis.test_gap import outcomes

rates = st.sampled_from([Fraction(c, n) for n in (3, 4, 5) for c in range(n + 1)])
differences = st.lists(
    st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0]), min_size=2, max_size=20
)


def example(seed: int, size: int = 20) -> tuple[list[Fraction], list[Fraction]]:
    rng = np.random.default_rng(seed)
    draw = lambda: [Fraction(int(c), 5) for c in rng.binomial(5, rng.random(size))]  # noqa: E731
    return draw(), draw()


@pytest.mark.parametrize("seed", range(3))
def test_the_t_interval_is_scipys_paired_one(seed: int) -> None:
    bash, pwsh = example(seed)
    ours = t_interval([p - b for p, b in zip(pwsh, bash, strict=True)])
    theirs = scipy.stats.ttest_rel(
        [float(p) for p in pwsh], [float(b) for b in bash]
    ).confidence_interval(0.95)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_ninety_percent_interval_is_the_one_of_two_one_sided_tests() -> None:
    d = [Fraction(x, 20) for x in (-1, 0, 0, 1, 0, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 0, 0)]
    low, high = t_interval(d, 0.90)
    edge = max(abs(low), abs(high))
    p, *_ = ttost_paired(np.array([float(x) for x in d]), np.zeros(20), -edge, edge)
    assert p == pytest.approx(0.05, abs=1e-9)
    p, *_ = ttost_paired(np.array([float(x) for x in d]), np.zeros(20), -0.05, 0.05)
    assert (p < 0.05) == (low > -0.05 and high < 0.05)


@given(differences)
def test_swapping_the_shells_mirrors_the_intervals(d: list[Fraction]) -> None:
    mirrored = [-x for x in d]
    for interval in (t_interval, floored_interval):
        one, other = interval(d), interval(mirrored)
        assert (one is None) == (other is None)
        if one:
            assert one == pytest.approx((-other.high, -other.low))


def test_equal_differences_have_no_t_interval_but_a_floored_one() -> None:
    for level in (Fraction(0), Fraction(1), Fraction(-2, 5)):
        assert t_interval([level] * 20) is None
        low, high = floored_interval([level] * 20)
        assert low < level or level == -1
        assert high > level or level == 1
    low, high = floored_interval([Fraction(0)] * 20)
    assert high == pytest.approx(0.0684, abs=0.0005) and low == -high


def test_intervals_stay_within_what_a_gap_can_be() -> None:
    low, high = t_interval([Fraction(1), Fraction(-1), Fraction(1)])
    assert (low, high) == (-1.0, 1.0) and t_interval([Fraction(1, 5)]) is None


def fixed(
    bash: list[tuple[int, int]], pwsh: list[tuple[int, int]], trials: int = 5
) -> float | None:
    found = outcomes(bash, pwsh, trials)
    return fixed_task_halfwidth(found, pair_by_task(found))


def test_the_fixed_task_interval_by_hand() -> None:
    half = fixed([(1, 5), (5, 5)], [(4, 5), (2, 3)])
    variance = 0.2 * 0.8 / 4 + 0.8 * 0.2 / 4 + (2 / 3) * (1 / 3) / 2
    assert half == pytest.approx(1.959964 * variance**0.5 / 2, rel=1e-6)


def test_the_fixed_task_interval_is_undefined_with_one_trial_and_zero_without_variation() -> None:
    assert fixed([(1, 1)], [(0, 1)], trials=1) is None and fixed([(0, 5)], [(5, 5)]) == 0.0
    assert fixed([(0, 1)], [(5, 5)], trials=1) is None


def test_a_dropped_task_does_not_enter_the_fixed_task_interval() -> None:
    with_it = fixed([(1, 5), (1, 2)], [(4, 5), (1, 2)])
    assert with_it == fixed([(1, 5)], [(4, 5)])


@given(differences)
@settings(max_examples=25, deadline=None)
def test_shares_are_exact_add_up_and_mirror_in_the_large(d: list[Fraction]) -> None:
    shares = band_shares(d)
    assert tuple(shares) == BANDS and sum(shares.values()) == 1 and band_shares(d) == shares
    mirrored = band_shares([-x for x in d])
    assert (
        mirrored["challenger"] == shares["baseline"]
        and mirrored["falsified"] == shares["falsified"]
    )


def test_shares_of_a_certain_gap_on_an_edge_are_not_split_by_rounding() -> None:
    assert band_shares([Fraction(1, 10)] * 20)["challenger"] == 1
    assert band_shares([Fraction(1, 20)] * 20)["inconclusive"] == 1


def test_shares_are_exact_where_denominators_are_too_many_for_machine_integers() -> None:
    d = [Fraction(1, 10) + Fraction((-1) ** i, 50 + i // 2) for i in range(100)]
    assert integers(d)[1] > 2**63
    shares = band_shares(d)
    sums = np.array([float(x) for x in d])[
        np.random.default_rng(RESAMPLE_SEED).integers(0, 100, size=(10_000, 100))
    ]
    assert sum(shares.values()) == 1
    assert float(shares["challenger"]) == pytest.approx(
        np.mean(sums.mean(axis=1) >= 0.1), abs=0.001
    )


def test_shares_agree_with_the_bootstrap_distribution_of_scipy() -> None:
    bash, pwsh = example(8)
    d = [p - b for p, b in zip(pwsh, bash, strict=True)]
    theirs = scipy.stats.bootstrap(
        ([float(x) for x in d],),
        np.mean,
        method="percentile",
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    ).bootstrap_distribution
    shares = band_shares(d)
    assert float(shares["challenger"]) == pytest.approx(np.mean(theirs >= 0.1 - 1e-9), abs=0.02)
    assert float(shares["falsified"]) == pytest.approx(np.mean(abs(theirs) < 0.05 - 1e-9), abs=0.02)


@pytest.mark.parametrize(("successes", "size"), [(0, 20), (3, 20), (20, 20), (7, 9)])
def test_clopper_pearson_is_statsmodels_beta_interval(successes: int, size: int) -> None:
    theirs = proportion_confint(successes, size, method="beta")
    assert clopper_pearson(successes, size) == pytest.approx(theirs, abs=1e-9)
