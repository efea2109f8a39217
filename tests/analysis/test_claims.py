"""What numbers carry, over a grid of gap x width x p and in both directions, and the decision table's edges and words."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluency.analysis.estimate import Claims, claims_of
from fluency.analysis.intervals import Interval
from fluency.analysis.plan import band_of, band_words, bands_within, common_edge
from fluency.core.shells import DESIGN_SHELLS

MIDDLE = (Fraction(1, 2), Fraction(1, 2))
GAPS = [Fraction(x, 200) for x in (-120, -60, *range(-30, 31), 60, 120)]
WIDTHS = [Fraction(x, 1000) for x in (0, 1, 5, 10, 24, 26, 30, 45, 55, 90, 110, 200, 400)]
PS = [Fraction(1, 1000), Fraction(1, 20), Fraction(51, 1000), Fraction(1)]
GRID = list(itertools.product(GAPS, WIDTHS, PS))
OPPOSITE = {"challenger": "baseline", "baseline": "challenger"}


def claimed(
    gap: Fraction, width: Fraction, p: Fraction, rates=MIDDLE, fixed: float | None = 0.05
) -> Claims:
    """Exact intervals, so that a bound on an edge is on the edge."""
    near = width * Fraction(5, 6)
    wide, narrow = (Interval(gap - half, gap + half) for half in (width, near))
    return claims_of(rates, gap, wide, narrow, wide, p, fixed)


def points(gap: Fraction, width: Fraction) -> list[Fraction]:
    """The interval's ends, and enough between them to meet every row that it meets."""
    low, high = gap - width, gap + width
    edges = [Fraction(x, 100) for x in (-10, -5, 0, 5, 10)]
    inner = [
        edge + nudge for edge in edges for nudge in (Fraction(-1, 10**6), 0, Fraction(1, 10**6))
    ]
    return [low, gap, high, *(x for x in inner if low <= x <= high)]


def test_who_is_ahead_is_claimed_where_the_test_rejects_and_every_gap_in_the_interval_says_so() -> (
    None
):
    for gap, width, p in GRID:
        signs = {(x > 0) - (x < 0) for x in points(gap, width)}
        expected = {1: "challenger", -1: "baseline", 0: None}[
            min(signs) if len(signs) == 1 and p <= Fraction(1, 20) else 0
        ]
        assert claimed(gap, width, p).ahead == expected, (gap, width, p)


def test_a_size_is_claimed_where_every_gap_in_its_interval_has_it() -> None:
    seen = set()
    for gap, width, p in GRID:
        found = claimed(gap, width, p)
        wide, narrow = points(gap, width), points(gap, width * Fraction(5, 6))
        ten = found.ahead is not None and all(abs(x) >= Fraction(1, 10) for x in wide)
        five = all(abs(x) < Fraction(1, 20) for x in narrow)
        under = all(abs(x) < Fraction(1, 10) for x in narrow)
        hole = under and found.ahead is not None and all(abs(x) >= Fraction(1, 20) for x in narrow)
        sizes = [
            name
            for name, holds in (("ten-or-more", ten), ("five-to-ten", hole), ("under-five", five))
            if holds
        ]
        assert len(sizes) <= 1, (gap, width, p)
        assert found.size == (sizes[0] if sizes else "under-ten" if under else "open"), (
            gap,
            width,
            p,
        )
        seen.add((found.ahead, found.size))
    directions, sizes = (
        ("challenger", "baseline"),
        ("ten-or-more", "five-to-ten", "under-five", "under-ten", "open"),
    )
    never = {(None, "ten-or-more"), (None, "five-to-ten")}
    assert seen == set(itertools.product((*directions, None), sizes)) - never


def test_the_rows_are_those_of_the_gaps_in_the_interval() -> None:
    for gap, width, p in GRID:
        found = claimed(gap, width, p)
        assert set(found.rows) == {band_of(x) for x in points(gap, width)}
        assert found.band == band_of(gap) and found.band in found.rows


def test_a_label_is_resolved_where_its_own_claim_is_carried() -> None:
    resolved = set()
    for gap, width, p in GRID:
        found = claimed(gap, width, p)
        if found.resolved:
            resolved.add(found.band)
            carried = {
                "falsified": found.size == "under-five",
                "inconclusive": found.size == "five-to-ten",
            }
            assert carried.get(found.band, found.ahead == found.band)
        elif found.band in OPPOSITE:
            assert found.ahead != found.band
    assert resolved == {"challenger", "baseline", "falsified", "inconclusive"}


def test_shells_swapped_the_same_is_said_of_the_other() -> None:
    for gap, width, p in GRID:
        there, back = claimed(gap, width, p), claimed(-gap, width, p)
        assert back.ahead == OPPOSITE.get(there.ahead)
        assert back.these_tasks == OPPOSITE.get(there.these_tasks, there.these_tasks)
        assert (back.size, back.resolved) == (there.size, there.resolved)
        assert set(back.rows) == {OPPOSITE.get(row, row) for row in there.rows}
        assert back.band == OPPOSITE.get(there.band, there.band)


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [(0.0, "unknown"), (None, "unknown"), (0.2, "open"), (0.05, "challenger")],
)
def test_these_tasks_are_claimed_beyond_their_own_noise(fixed: float | None, expected: str) -> None:
    assert (
        claimed(Fraction(1, 10), Fraction(1, 5), Fraction(1), fixed=fixed).these_tasks == expected
    )


RATES = [Fraction(x, 1000) for x in (0, 50, 99, 100, 101, 500, 899, 900, 901, 1000)]


def test_both_shells_at_one_edge_leave_the_tasks_nothing_to_tell_of_a_size() -> None:
    for rates in itertools.product(RATES, RATES):
        low = all(rate <= Fraction(1, 10) for rate in rates)
        high = all(rate >= Fraction(9, 10) for rate in rates)
        gap = rates[1] - rates[0]
        for width, p in itertools.product(WIDTHS, PS):
            found, free = claimed(gap, width, p, rates), claimed(gap, width, p)
            assert found.edge == ("floor" if low else "ceiling" if high else None)
            if found.edge:
                assert found.size == "open" and not found.resolved
                assert found.alike_at_edge == (free.size == "under-five")
            else:
                assert found == free
            assert (found.ahead, found.band) == (free.ahead, free.band), (
                "who is ahead stands: the edge only hides"
            )


def test_a_row_is_out_of_reach_at_an_edge_where_no_rate_of_the_other_shell_gets_there() -> None:
    grid = [Fraction(x, 1000) for x in range(0, 1001, 5)]
    for rates in [(a, b) for a, b in itertools.product(RATES, RATES) if common_edge((a, b))]:
        below, above = rates
        reached = [{band_of(x - below) for x in grid}, {band_of(above - x) for x in grid}]
        expected = [side for side in OPPOSITE if not all(side in bands for bands in reached)]
        found = claims_of(rates, above - below, *[Interval(-1, 1)] * 3, 1.0, None)
        assert list(found.out_of_reach) == expected, rates
    assert (
        claimed(
            Fraction(0), Fraction(1), Fraction(1), (Fraction(95, 100), Fraction(1, 2))
        ).out_of_reach
        == ()
    )


def test_who_is_ahead_is_asked_without_the_widening_near_an_edge() -> None:
    wide, tested, p = Interval(-0.01, 0.21), Interval(0.01, 0.19), Fraction(3, 100)
    found = claims_of(MIDDLE, Fraction(1, 10), wide, tested, tested, p, 0.01)
    assert (found.ahead, found.size) == ("challenger", "open") and "falsified" in found.rows
    assert claims_of(MIDDLE, Fraction(1, 10), tested, tested, wide, p, 0.01).ahead is None


@pytest.mark.parametrize(
    ("edge", "beyond", "below"),
    [(10, "challenger", "inconclusive"), (5, "inconclusive", "falsified")],
)
def test_the_edges_of_the_bands_are_where_the_table_says(
    edge: int, beyond: str, below: str
) -> None:
    gap = Fraction(edge, 100)
    assert (band_of(gap), band_of(gap - Fraction(1, 10**9))) == (beyond, below)


def test_every_pair_of_counts_on_an_edge_gets_the_right_band_where_floats_would_not() -> None:
    tens = [(p, p - 10) for p in range(10, 101)]
    fives = [(p, p - 5) for p in range(5, 101)]
    assert all(band_of(Fraction(p, 100) - Fraction(b, 100)) == "challenger" for p, b in tens)
    assert all(band_of(Fraction(p, 100) - Fraction(b, 100)) == "inconclusive" for p, b in fives)
    assert sum(not (p / 100 - b / 100 >= 0.10) for p, b in tens) > 0, (
        "floats should fail here, or why fractions"
    )


def test_a_float_is_refused() -> None:
    with pytest.raises(TypeError):
        band_of(0.1)  # type: ignore[arg-type]


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_the_bands_within_an_interval_are_those_with_a_point_in_it(a: float, b: float) -> None:
    low, high = sorted((a, b))
    inside = {band_of(Fraction(x)) for x in (low, high)}
    inside |= {band_of(Fraction(x, 1000)) for x in range(-1000, 1001, 5) if low <= x / 1000 <= high}
    assert inside == set(bands_within(low, high))


def test_the_words_are_the_designs_for_its_own_shells() -> None:
    words = band_words(DESIGN_SHELLS)
    assert [(row.condition, row.reading) for row in words.values()] == [
        ("PowerShell ahead by 10 pp or more", "mild evidence to prefer PowerShell prompts"),
        ("5 to 10 pp either way", "no rule"),
        ("less than 5 pp either way", "hypothesis falsified: treat as noise, change nothing"),
        (
            "Bash ahead by 10 pp or more",
            "the PowerShell-first stance rests on policy and parsing; do not extend it to code generation",
        ),
    ]
    assert words["baseline"].changes.startswith(
        "The PowerShell-first stance is from now on argued from policy"
    )
    assert words["challenger"].changes == (
        "Prompts may prefer PowerShell 7 for one-shot commands; the evidence is mild."
    )


def test_only_a_policys_own_shell_has_its_words() -> None:
    words = band_words(DESIGN_SHELLS[::-1])
    assert words["baseline"].reading == "mild evidence to prefer PowerShell prompts"
    assert words["challenger"].label == "Bash by 10 or more"
    assert not any("policy and parsing" in str(row) for row in words.values())
