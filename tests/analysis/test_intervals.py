"""Intervals and p values against other programs, against counting everything, and against their own symmetry."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from fluency.analysis.bands import BANDS
from fluency.analysis.intervals import (
    band_shares,
    clopper_pearson,
    fixed_task_halfwidth,
    floored_interval,
    signflip_p,
    t_interval,
    task_sd,
    tasks_needed,
)
from fluency.analysis.outcomes import Arm, Outcomes
from tests.synthetic_tables import contrasted

rates = st.sampled_from([Fraction(c, n) for n in (3, 4, 5) for c in range(n + 1)])
differences = st.lists(st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0]), min_size=2, max_size=20)
few = st.lists(st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0]), min_size=1, max_size=9)


def example(seed: int, size: int = 20) -> tuple[list[Fraction], list[Fraction]]:
    rng = np.random.default_rng(seed)
    draw = lambda: [Fraction(int(c), 5) for c in rng.binomial(5, rng.random(size))]  # noqa: E731
    return draw(), draw()


@pytest.mark.parametrize("seed", range(5))
def test_the_t_interval_is_scipys_paired_one(seed: int) -> None:
    bash, pwsh = example(seed)
    ours = t_interval([p - b for p, b in zip(pwsh, bash, strict=True)])
    theirs = scipy.stats.ttest_rel([float(p) for p in pwsh], [float(b) for b in bash]).confidence_interval(0.95)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_t_interval_is_nearly_the_cluster_robust_one() -> None:
    bash, pwsh = example(3)
    d = [p - b for p, b in zip(pwsh, bash, strict=True)]
    rows = [(task, shell, float(rate)) for task in range(20) for shell, rate in ((0, bash[task]), (1, pwsh[task]))]
    frame = pd.DataFrame(rows, columns=["task", "shell", "rate"])
    fit = smf.ols("rate ~ shell", frame).fit(cov_type="cluster", cov_kwds={"groups": frame["task"]}, use_t=True)
    half = (t_interval(d).high - t_interval(d).low) / 2
    theirs = fit.bse["shell"] * scipy.stats.t.ppf(0.975, 19)
    assert half == pytest.approx(theirs, rel=0.02)


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


@given(differences, st.randoms(use_true_random=False))
def test_the_order_of_tasks_is_of_no_consequence(d: list[Fraction], rng) -> None:
    shuffled = list(d)
    rng.shuffle(shuffled)
    assert signflip_p(d) == signflip_p(shuffled)
    assert floored_interval(d) == pytest.approx(floored_interval(shuffled))
    assert task_sd(d) == pytest.approx(task_sd(shuffled))


def test_equal_differences_have_no_t_interval_but_a_floored_one() -> None:
    for level in (Fraction(0), Fraction(1), Fraction(-2, 5)):
        assert t_interval([level] * 20) is None
        low, high = floored_interval([level] * 20)
        assert low < level or level == -1
        assert high > level or level == 1
    low, high = floored_interval([Fraction(0)] * 20)
    assert high == pytest.approx(0.0684, abs=0.0005)
    assert low == -high


def test_intervals_stay_within_what_a_gap_can_be() -> None:
    low, high = t_interval([Fraction(1), Fraction(-1), Fraction(1)])
    assert (low, high) == (-1.0, 1.0)
    assert t_interval([Fraction(1, 5)]) is None


@given(few)
@settings(max_examples=60)
def test_the_sign_flip_p_counts_every_assignment_of_signs(d: list[Fraction]) -> None:
    observed = abs(sum(d))
    flips = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in itertools.product((1, -1), repeat=len(d))
    ]
    assert signflip_p(d) == Fraction(sum(flip >= observed for flip in flips), len(flips))


@pytest.mark.parametrize("seed", range(4))
def test_the_sign_flip_p_is_scipys_exact_one(seed: int) -> None:
    bash, pwsh = example(seed, 12)
    scaled = [[int(60 * x) for x in arm] for arm in (pwsh, bash)]
    theirs = scipy.stats.permutation_test(
        scaled,
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert float(signflip_p([p - b for p, b in zip(pwsh, bash, strict=True)])) == pytest.approx(
        theirs.pvalue, abs=1e-12
    )


@given(differences)
def test_the_sign_flip_p_has_its_limits(d: list[Fraction]) -> None:
    p = signflip_p(d)
    assert p == signflip_p([-x for x in d])
    assert p == signflip_p([x for x in d if x] or [Fraction(0)])
    assert p >= min(Fraction(1), Fraction(2, 2 ** sum(x != 0 for x in d)))


def test_five_differing_tasks_can_never_reject_and_six_can() -> None:
    flat = [Fraction(0)] * 14
    assert signflip_p([Fraction(1)] * 5 + flat) == Fraction(1, 16)
    assert signflip_p([Fraction(1)] * 6 + flat) == Fraction(1, 32)
    assert signflip_p(flat) == 1


def fixed(bash: list[tuple[int, int]], pwsh: list[tuple[int, int]], trials: int = 5) -> Outcomes:
    arms = [Arm(tuple(c for c, _ in arm), tuple(n for _, n in arm)) for arm in (bash, pwsh)]
    return contrasted(*arms, trials)


def test_the_fixed_task_interval_by_hand() -> None:
    half = fixed_task_halfwidth(fixed([(1, 5), (5, 5)], [(4, 5), (2, 3)]))
    variance = 0.2 * 0.8 / 4 + 0.8 * 0.2 / 4 + (2 / 3) * (1 / 3) / 2
    assert half == pytest.approx(1.959964 * variance**0.5 / 2, rel=1e-6)


def test_the_fixed_task_interval_is_undefined_with_one_trial_and_zero_without_variation() -> None:
    assert fixed_task_halfwidth(fixed([(1, 1)], [(0, 1)], trials=1)) is None
    assert fixed_task_halfwidth(fixed([(0, 5)], [(5, 5)])) == 0.0
    assert fixed_task_halfwidth(fixed([(0, 1)], [(5, 5)])) is None


def test_a_dropped_task_does_not_enter_the_fixed_task_interval() -> None:
    with_it = fixed_task_halfwidth(fixed([(1, 5), (1, 2)], [(4, 5), (1, 2)]))
    assert with_it == fixed_task_halfwidth(fixed([(1, 5)], [(4, 5)]))


@given(differences)
@settings(max_examples=25, deadline=None)
def test_shares_are_exact_add_up_and_mirror_in_the_large(d: list[Fraction]) -> None:
    shares = band_shares(d)
    assert tuple(shares) == BANDS
    assert sum(shares.values()) == 1
    assert band_shares(d) == shares
    mirrored = band_shares([-x for x in d])
    assert mirrored["challenger"] == shares["baseline"]
    assert mirrored["falsified"] == shares["falsified"]


def test_shares_of_a_certain_gap_on_an_edge_are_not_split_by_rounding() -> None:
    assert band_shares([Fraction(1, 10)] * 20)["challenger"] == 1
    assert band_shares([Fraction(1, 20)] * 20)["inconclusive"] == 1


def test_shares_agree_with_the_bootstrap_distribution_of_scipy() -> None:
    bash, pwsh = example(8)
    d = [p - b for p, b in zip(pwsh, bash, strict=True)]
    theirs = scipy.stats.bootstrap(
        ([float(x) for x in d],), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(1)
    ).bootstrap_distribution
    shares = band_shares(d)
    assert float(shares["challenger"]) == pytest.approx(np.mean(theirs >= 0.1 - 1e-9), abs=0.02)
    assert float(shares["falsified"]) == pytest.approx(np.mean(abs(theirs) < 0.05 - 1e-9), abs=0.02)


@pytest.mark.parametrize(("successes", "size"), [(0, 20), (3, 20), (20, 20), (7, 9)])
def test_clopper_pearson_is_statsmodels_beta_interval(successes: int, size: int) -> None:
    theirs = proportion_confint(successes, size, method="beta")
    assert clopper_pearson(successes, size) == pytest.approx(theirs, abs=1e-9)


def test_no_difference_in_twenty_tasks_leaves_room_for_a_sixth() -> None:
    assert clopper_pearson(0, 20)[1] == pytest.approx(0.168, abs=0.001)


def test_tasks_needed_is_the_textbook_size() -> None:
    assert tasks_needed(0.287) == 65
    assert tasks_needed(0.24) in range(44, 47)
