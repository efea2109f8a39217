"""Numbers as people read them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from fluency.analysis.decision_table import band_of

if TYPE_CHECKING:
    from fluency.analysis.gap import Interval
    from fluency.analysis.outcomes import ShellPasses

MINUS = "\u2212"


def percent(share: Fraction | float | None, digits: int = 1) -> str:
    """`61.0 %` of a share of one; `n/a` if unknown."""
    return "n/a" if share is None else f"{_rounded(share, digits)} %"


def rate(found: ShellPasses) -> str:
    """`61.0 % (61/100)`."""
    return f"{percent(found.rate)} ({sum(found.passes)}/{sum(found.scored)})"


def points(share: Fraction | float, digits: int = 1) -> str:
    """`8.1` points of a share of one, without a sign."""
    return _rounded(share, digits).removeprefix("-")


def signed(gap: Fraction | float) -> str:
    """`+8.0` points; an exact gap gets the decimals that keep it on its side of a band's edge."""
    digits = 1
    if isinstance(gap, Fraction):
        while band_of(round(gap, 2 + digits)) != band_of(gap):
            digits += 1
    return _with_sign(gap, digits)


def span(interval: Interval) -> str:
    """`−3.1 to +19.1`, the interval as every claim reads it."""
    return " to ".join(_with_sign(end, 1) for end in interval)


def _with_sign(value: Fraction | float, digits: int) -> str:
    text = points(value, digits)
    if not float(text):
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def seconds(value: float | None) -> str:
    """Seconds with about three digits, or milliseconds; `n/a` if unknown."""
    if value is None:
        return "n/a"
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def amount(value: float | None) -> str:
    """Three digits, as `5,730` or `0.00007`; `n/a` if unknown."""
    return "n/a" if value is None else f"{float(f'{value:.3g}'):,.6f}".rstrip("0").rstrip(".")


def _rounded(share: Fraction | float, digits: int) -> str:
    return f"{float(round(100 * share, digits)):.{digits}f}"
