"""The decision table: its edges on exact fractions, and its words for the shells that are contrasted."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluency.analysis.plan import band_of, band_words, bands_within
from fluency.core.shells import DESIGN_SHELLS

OPPOSITE = {"challenger": "baseline", "baseline": "challenger"}


@pytest.mark.parametrize(
    ("points", "band"),
    [
        (Fraction(10), "challenger"),
        (Fraction(-10), "baseline"),
        (Fraction(5), "inconclusive"),
        (Fraction(-5), "inconclusive"),
        (Fraction(0), "falsified"),
        (Fraction(10) - Fraction(1, 10**9), "inconclusive"),
        (Fraction(5) - Fraction(1, 10**9), "falsified"),
        (Fraction(100), "challenger"),
    ],
)
def test_the_edges_of_the_bands_are_where_the_table_says(points: Fraction, band: str) -> None:
    assert band_of(points / 100) == band


def test_every_pair_of_counts_on_an_edge_gets_the_right_band_where_floats_would_not() -> None:
    tens = [(p, p - 10) for p in range(10, 101)]
    fives = [(p, p - 5) for p in range(5, 101)]
    assert all(band_of(Fraction(p, 100) - Fraction(b, 100)) == "challenger" for p, b in tens)
    assert all(band_of(Fraction(p, 100) - Fraction(b, 100)) == "inconclusive" for p, b in fives)
    assert sum(not (p / 100 - b / 100 >= 0.10) for p, b in tens) > 0, "floats should fail here, or why fractions"


def test_a_float_is_refused() -> None:
    with pytest.raises(TypeError):
        band_of(0.1)  # type: ignore[arg-type]


@given(st.fractions(min_value=-1, max_value=1))
def test_bands_are_symmetric(gap: Fraction) -> None:
    assert band_of(-gap) == OPPOSITE.get(band_of(gap), band_of(gap))


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
        ("5 to 10 pp either way", "**no rule**: the table leaves a hole here; this report calls it *inconclusive*"),
        ("less than 5 pp either way", "hypothesis falsified: treat as noise, change nothing"),
        (
            "Bash ahead by 10 pp or more",
            "the PowerShell-first stance is a matter of policy and parsing; do not extend it to code generation",
        ),
    ]
    assert words["baseline"].changes.startswith("The PowerShell-first stance is from now on argued from policy")
    assert words["challenger"].changes == (
        "Prompts may prefer PowerShell 7 for one-shot commands; the evidence is mild."
    )


def test_only_a_policys_own_shell_has_its_words() -> None:
    words = band_words(DESIGN_SHELLS[::-1])
    assert words["baseline"].meaning == "mild evidence to prefer PowerShell prompts"
    assert words["challenger"].label == "Bash"
    assert not any("policy and parsing" in str(row) for row in words.values())
