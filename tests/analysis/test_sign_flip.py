"""The sign-flip mid-p against counting, scipy, and its own symmetry; its work is bounded, whatever the table."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.analysis import intervals as module
from fluency.analysis import plan
from fluency.analysis.intervals import PValue, reduced_steps, sign_flip
from fluency.analysis.plan import MAX_EXACT_UNITS, SIGN_FLIP_SAMPLES
from fluency.report.numbers import probability

rates = st.sampled_from([Fraction(c, n) for n in (3, 4, 5) for c in range(n + 1)])
difference = st.tuples(rates, rates).map(lambda pair: pair[1] - pair[0])
many, few = (
    st.lists(difference, min_size=2, max_size=20),
    st.lists(difference, min_size=1, max_size=9),
)


def example(seed: int, tasks: int, trials: tuple[int, int]) -> list[Fraction]:
    """Per-task differences of shells whose tasks have any number of measured trials within `trials`."""
    rng = np.random.default_rng(seed)
    counts = [
        [(int(rng.binomial(n, rng.random())), int(n)) for n in rng.integers(*trials, tasks)]
        for _ in range(2)
    ]
    return [Fraction(*p) - Fraction(*b) for b, p in zip(*counts, strict=True)]


def drawn(differences: list[Fraction], monkeypatch: pytest.MonkeyPatch) -> PValue:
    with monkeypatch.context() as patch:
        patch.setattr(plan, "MAX_EXACT_UNITS", 0)
        return sign_flip(differences)


def mid_p(beyond: int, ties: int, ways: int) -> Fraction:
    """Twice the share of sums above the observed one, those equal to it counted half; 1 where the observed one is 0."""
    return min(Fraction(1), 2 * (beyond + Fraction(ties, 2)) / ways)


def test_where_every_pattern_is_as_far_out_the_drawn_p_is_exactly_that_of_counting(
    monkeypatch,
) -> None:
    assert (
        drawn([Fraction(3, 5)], monkeypatch).value
        == Fraction(1, 2)
        == sign_flip([Fraction(3, 5)]).value
    )
    assert drawn([Fraction(2, 5), Fraction(-2, 5)], monkeypatch).value == 1


@given(few)
@settings(max_examples=60, deadline=None)
def test_it_counts_every_assignment_of_signs(d: list[Fraction]) -> None:
    flips = [
        sum(s * x for s, x in zip(signs, d, strict=True))
        for signs in itertools.product((1, -1), repeat=len(d))
    ]
    beyond, ties = sum(x > abs(sum(d)) for x in flips), sum(x == abs(sum(d)) for x in flips)
    assert sign_flip(d) == (mid_p(beyond, ties, len(flips)), 0.0)


@pytest.mark.parametrize("seed", range(2))
def test_it_counts_a_hundred_tasks_as_adding_up_their_sums_one_by_one_does(seed: int) -> None:
    d = example(seed, 100, (20, 21)) if seed % 2 else example(seed, 40, (9, 11))
    sums: Counter[Fraction] = Counter({Fraction(): 1})
    for x in d:
        moved: Counter[Fraction] = Counter()
        for total, ways in sums.items():
            moved[total + x] += ways
            moved[total - x] += ways
        sums = moved
    beyond = sum(ways for total, ways in sums.items() if total > abs(sum(d)))
    assert sign_flip(d) == (mid_p(beyond, sums[abs(sum(d))], 2 ** len(d)), 0.0)


@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_middle_of_scipys_exact_ones(seed: int) -> None:
    """The two one-sided p overlap in the ties: half of that is taken from the smaller, and the rest is doubled."""
    d = np.array([float(x) for x in example(seed, 12, (5, 6))]) * 5
    above, below = (
        scipy.stats.permutation_test(
            (d.round(), np.zeros(12)), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples",
            n_resamples=np.inf, vectorized=True, alternative=side,
        ).pvalue
        for side in ("greater", "less")
    )  # fmt: skip
    theirs = 2 * min(above, below) - (above + below - 1)
    ours = sign_flip([Fraction(int(x), 5) for x in d.round()]).value
    assert float(ours) == pytest.approx(theirs if d.sum() else 1, abs=1e-12)


@settings(deadline=None)
@given(many, st.randoms(use_true_random=False))
def test_it_has_its_limits_and_symmetries(d: list[Fraction], rng) -> None:
    p, shuffled = sign_flip(d), list(d)
    rng.shuffle(shuffled)
    assert p == sign_flip(shuffled) == sign_flip([-x for x in d]) == sign_flip([x / 7 for x in d])
    assert p == sign_flip([x for x in d if x] or [Fraction(0)])
    assert 1 >= p.value >= Fraction(1, 2 ** sum(x != 0 for x in d))


def test_four_differing_tasks_can_never_reject_and_five_can() -> None:
    flat = [Fraction(0)] * 14
    assert sign_flip([Fraction(1)] * 4 + flat).value == Fraction(1, 16)
    assert (
        sign_flip([Fraction(1)] * 5 + flat).value == Fraction(1, 32) and sign_flip(flat).value == 1
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_drawn_p_is_the_exact_one_within_its_error_and_keeps_its_symmetries(
    seed: int, monkeypatch
) -> None:
    d = example(seed, 20, (5, 6))
    exact, p = sign_flip(d), drawn(d, monkeypatch)
    assert exact.error == 0 < p.error and exact.upper == exact.value
    assert abs(p.value - exact.value) < 4 * p.error
    assert p.upper == pytest.approx(float(p.value) + 1.96 * p.error) and (p.value == 1) <= (
        exact.value == 1
    )
    for same in ([-x for x in d], d[::-1], [*d, Fraction(0)]):
        assert drawn(same, monkeypatch) == p


def test_a_tie_counts_half_when_drawn_too(monkeypatch) -> None:
    """Six equal differences: only all six alike are as far out, and rounding takes none of them away."""
    d = [Fraction(1, 3)] * 6
    assert float(drawn(d, monkeypatch).value) == pytest.approx(1 / 64, abs=0.002)


def test_above_the_cap_it_is_drawn_and_says_so() -> None:
    step = Fraction(1, MAX_EXACT_UNITS)
    within, beyond = [1 - step, step], [Fraction(1), step]
    assert sum(map(abs, reduced_steps(within))) == MAX_EXACT_UNITS and sign_flip(within).error == 0
    assert (
        sum(map(abs, reduced_steps(beyond))) == MAX_EXACT_UNITS + 1 and sign_flip(beyond).error > 0
    )
    assert probability(sign_flip(within)) == "0.250"
    assert probability(sign_flip(beyond)) == "0.248 ± 0.003 (drawn)"
    assert probability(PValue(Fraction(1, 10**6), 1e-6)) == "<0.001 ± 0.001 (drawn)"


@pytest.mark.parametrize(
    ("tasks", "trials"), [(20, (3, 6)), (30, (10, 21)), (100, (50, 101)), (100, (100, 101))]
)
def test_the_work_is_bounded_whatever_was_measured(
    tasks: int, trials: tuple[int, int], monkeypatch
) -> None:
    """Sums to be counted, or flips to be drawn: never more, where counting all would take 2^tasks."""
    work: list[int] = []
    counted, taken = module._exact_p, module._sampled_p
    monkeypatch.setattr(
        module, "_exact_p", lambda sizes, seen: work.append(sum(sizes)) or counted(sizes, seen)
    )
    monkeypatch.setattr(
        module,
        "_sampled_p",
        lambda sizes, seen: work.append(SIGN_FLIP_SAMPLES) or taken(sizes, seen),
    )
    for seed in range(3):
        sign_flip(example(seed, tasks, trials))
    assert len(work) == 3 and max(work) <= max(MAX_EXACT_UNITS, SIGN_FLIP_SAMPLES)
    assert (SIGN_FLIP_SAMPLES in work) == (trials[1] - trials[0] > 3)
