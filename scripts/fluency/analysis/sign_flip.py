"""The two-sided sign-flip p over tasks: exact as long as its sums are few enough to count, else drawn and labelled so.

P(|Σ ±d_i| ≥ |Σ d_i|) with every sign equally likely; valid where the differences are symmetric about zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, sqrt
from typing import NamedTuple

import numpy as np

from fluency.analysis.analysis_plan import FLIPS, MAX_STATES, RESAMPLE_SEED
from fluency.analysis.gap import integers


class PValue(NamedTuple):
    """A p and the standard error of its drawing; an exact p has none."""

    value: Fraction
    error: float = 0.0

    @property
    def upper(self) -> float | Fraction:
        """What is held against a level: the p itself, or the end of a drawn one's 95 % interval."""
        return self.value + 1.96 * self.error if self.error else self.value


def sign_flip(differences: Sequence[Fraction]) -> PValue:
    """The p of one model's per-task differences."""
    steps = in_units(differences)
    observed, sizes = abs(sum(steps)), sorted(map(abs, steps), reverse=True)
    return _drawn(sizes, observed) if sum(sizes) > MAX_STATES else PValue(_counted(sizes, observed))


def in_units(differences: Sequence[Fraction]) -> list[int]:
    """The differences that are not 0, in their largest common unit: the sums to be counted lie within their total."""
    scaled = [value for value in integers(differences)[0] if value]
    unit = gcd(*scaled)
    return [value // unit for value in scaled]


def _counted(sizes: Sequence[int], observed: int) -> Fraction:
    """All 2^T sign patterns, as the coefficients of Π (1 + x^size), packed side by side into one integer."""
    if not observed:
        return Fraction(1)
    width, ways = len(sizes) + 1, 1
    for size in sizes:
        ways += ways << size * width
    beyond = ways >> (sum(sizes) + observed) // 2 * width
    # The digits of a number to the base 2^width add up to it modulo 2^width - 1, and to less than that here.
    return Fraction(2 * (beyond % ((1 << width) - 1)), 1 << len(sizes))


def _drawn(sizes: Sequence[int], observed: int) -> PValue:
    """The share of seeded sign patterns at least as far out, the observed one counted among them.

    In shares of the largest difference, since the units can be too small for machine integers; a tie counts as far out.
    """
    rng, values = np.random.default_rng(RESAMPLE_SEED), np.array([size / sizes[0] for size in sizes])
    beyond, edge = 0, observed / sizes[0] - 1e-9
    for size in [FLIPS // 10] * 10:
        signs = 2.0 * rng.integers(0, 2, size=(size, len(values)), dtype=np.int8) - 1
        beyond += int((np.abs(signs @ values) >= edge).sum())
    p = Fraction(beyond + 1, FLIPS + 1)
    return PValue(p, sqrt(max(float(p * (1 - p)), 1 / FLIPS) / FLIPS))
