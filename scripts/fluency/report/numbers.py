"""Numbers as people read them."""

from __future__ import annotations

from fractions import Fraction
from math import isinf

from fluency.analysis.intervals import Interval, PValue
from fluency.analysis.plan import ALPHA, band_of

MINUS = "\u2212"


def percent(share: Fraction | float | None, digits: int = 1) -> str:
    """`61.0 %` of a share of one; `n/a` if unknown."""
    return "n/a" if share is None else f"{_rounded(share, digits)} %"


def points(share: Fraction | float, digits: int = 1) -> str:
    """`8.1` points of a share of one, without a sign."""
    return _rounded(share, digits).removeprefix("-")


def signed(gap: Fraction | float, digits: int = 1) -> str:
    """`+8.0` points. An exact gap gets as many decimals as it takes to stay on its side of a band's edge."""
    while isinstance(gap, Fraction) and digits < 6:
        shown = Fraction(round(gap * 100 * 10**digits), 100 * 10**digits)
        if band_of(shown) == band_of(gap):
            break
        digits += 1
    text = points(gap, digits)
    if not float(text):
        return text
    return f"{'+' if gap > 0 else MINUS}{text}"


def span(interval: Interval, digits: int = 1) -> str:
    """`−3.1 to +19.1`; an end with no decimals gets one where it would be 0 and is not."""
    ends = (signed(end, digits if round(100 * end, digits) else 1) for end in interval)
    return " to ".join(ends)


def probability(p: PValue) -> str:
    """Three decimals, or more to be on its side of alpha, or `<0.001`; `0.041 ± 0.002 (drawn)` with its 95 % error."""
    value = float(p.value)
    digits = next(n for n in range(3, 18) if (round(value, n) <= ALPHA) == (p.value <= ALPHA))
    shown = "<0.001" if p.value < Fraction(1, 1000) else f"{value:.{digits}f}"
    return f"{shown} ± {max(0.001, 1.96 * p.error):.{digits}f} (drawn)" if p.error else shown


def seconds(value: float | None) -> str:
    """Seconds with about three digits, or milliseconds; `never` for infinity, `n/a` if unknown."""
    if value is None:
        return "n/a"
    if isinf(value):
        return "never"
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def _rounded(share: Fraction | float, digits: int) -> str:
    if isinstance(share, Fraction):
        whole = round(share * 100 * 10**digits)
        return f"{whole / 10**digits:.{digits}f}"
    return f"{share * 100:.{digits}f}"
