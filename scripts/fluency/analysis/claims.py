"""What one model's numbers carry: a pure rule from rates, gap, intervals and p to a few claims, without words.

Nothing is claimed of tasks like these that an interval or the test does not carry, and no size of a gap where it has
no room to show.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluency.analysis.analysis_plan import ALPHA, CEILING, FLOOR
from fluency.analysis.bands import DIRECTION, DIRECTIONS, NOISE, Band, Direction, band_of, bands_within
from fluency.analysis.intervals import Interval

Edge = Literal["floor", "ceiling"]
Size = Literal["ten-or-more", "five-to-ten", "under-five", "under-ten", "open"]


@dataclass(frozen=True)
class Claims:
    """One model's claims, and the label of the table that they are to be held against.

    edge: where both arms stand, so that the tasks cannot tell; None where a gap has room.
    ahead: who is, on tasks like these; None if that is open.
    size: of the gap on tasks like these.
    rows: of the table, those that the 95 % interval meets.
    these_tasks: who is ahead on these very tasks; `unknown` where their trials say nothing about their own noise.
    """

    band: Band
    edge: Edge | None
    ahead: Direction | None
    size: Size
    rows: tuple[Band, ...]
    these_tasks: Direction | Literal["open", "unknown"]

    @property
    def resolved(self) -> bool:
        """Whether the data carry the table's label: who is ahead, noise, or a gap that lies where it has no rule."""
        if self.band in DIRECTIONS:
            return self.edge is None and self.ahead == self.band
        return self.size == ("under-five" if self.band == "falsified" else "five-to-ten")


def claims_of(
    rates: tuple[Fraction, Fraction],
    gap: Fraction,
    s95: Interval,
    s90: Interval,
    p: Fraction | float,
    fixed: float | None,
) -> Claims:
    """The claims of a gap; `rates`: pass@1 of baseline and challenger, `fixed`: the half-width on these tasks."""
    edge = common_edge(rates)
    ahead: Direction | None = None
    if p <= ALPHA and (s95.low > 0 or s95.high < 0):
        ahead = "challenger" if s95.low > 0 else "baseline"
    return Claims(
        band=band_of(gap),
        edge=edge,
        ahead=ahead,
        size="open" if edge else _size(ahead, s95, s90),
        rows=bands_within(*s95),
        these_tasks=_on_these_tasks(gap, fixed),
    )


def edge_of(rate: Fraction) -> Edge | None:
    """The edge that a pass@1 stands at, if it does."""
    if rate <= FLOOR:
        return "floor"
    return "ceiling" if rate >= CEILING else None


def common_edge(rates: tuple[Fraction, Fraction]) -> Edge | None:
    """The edge that both arms stand at; floor against ceiling is the widest gap there is, and no such edge."""
    one, other = map(edge_of, rates)
    return one if one == other else None


def _size(ahead: Direction | None, s95: Interval, s90: Interval) -> Size:
    """Ten or more: by the 95 % interval, as who is ahead. Within bounds: by the 90 %, a test at 5 % at either bound."""
    if max(abs(s90.low), abs(s90.high)) < NOISE:
        return "under-five"
    if ahead and min(abs(s95.low), abs(s95.high)) >= DIRECTION:
        return "ten-or-more"
    if max(abs(s90.low), abs(s90.high)) < DIRECTION:
        return "five-to-ten" if ahead and min(abs(s90.low), abs(s90.high)) >= NOISE else "under-ten"
    return "open"


def _on_these_tasks(gap: Fraction, fixed: float | None) -> Direction | Literal["open", "unknown"]:
    """Without a trial that varied there is no interval to lean on, whatever the gap."""
    if not fixed:
        return "unknown"
    if abs(gap) <= fixed:
        return "open"
    return "challenger" if gap > 0 else "baseline"
