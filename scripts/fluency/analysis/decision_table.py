"""The plan of the analysis: its constants, its text with a hash, and the decision table."""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

from fluency.common.canonical import canonical_sha256
from fluency.common.data_file import data_file
from fluency.core.shells import DESIGN_SHELLS, SHELLS, Shell

_TABLE = data_file(__file__)
DIRECTION = Fraction(10, 100)
NOISE = Fraction(5, 100)
DIRECTION_PP, NOISE_PP = int(100 * DIRECTION), int(100 * NOISE)
"""The same in percentage points, for sentences."""
Band = Literal["challenger", "inconclusive", "falsified", "baseline"]
BANDS: tuple[Band, ...] = get_args(Band)
_UPWARDS: tuple[Band, ...] = ("baseline", "inconclusive", "falsified", "inconclusive", "challenger")
"""The band of each stretch of gaps, from the lowest."""


def bands_within(low: Fraction, high: Fraction) -> set[Band]:
    """The bands that an interval of exact gaps meets.

    Exactly 5 points is inconclusive, exactly 10 points a direction. A float is refused: on the
    grid of one point that this design produces, rounding puts half of the boundary cases into the
    wrong band.
    """
    places = []
    for gap in (low, high):
        if not isinstance(gap, Fraction):
            raise TypeError(f"bands are decided on exact fractions, got {type(gap).__name__}")
        steps = (abs(gap) >= NOISE) + (abs(gap) >= DIRECTION)
        places.append(2 + (steps if gap > 0 else -steps))
    return {*_UPWARDS[places[0] : places[1] + 1]}


def band_of(gap: Fraction) -> Band:
    """The decision table's band of an exact gap."""
    (band,) = bands_within(gap, gap)
    return band


@dataclass(frozen=True)
class BandWords:
    """One band in words.

    Attributes:
        condition: Which gaps, as the decision table states it.
        reading: What the decision table makes of it.
        changes: What a supported verdict changes.
        stays: What it leaves as it is.
    """

    condition: str
    reading: str
    changes: str
    stays: str


@cache
def band_words(contrast: tuple[str, str]) -> dict[Band, BandWords]:
    """The decision table in words for a baseline and a challenger, in its order."""
    baseline, challenger = (SHELLS[name] for name in contrast)
    rule = [] if contrast == DESIGN_SHELLS else ["no_rule"]
    behind = ["policy"] if challenger.policy and not rule else rule

    def words(shell: Shell, *rows: str) -> BandWords:
        names = {
            "name": shell.short_title,
            "title": shell.title,
            "policy": challenger.policy,
            "challenger": challenger.short_title,
        }
        return BandWords(**_filled(ChainMap(*(_TABLE[row] for row in rows)), names))

    return {
        "challenger": words(challenger, *rule, "ahead"),
        "inconclusive": words(challenger, "inconclusive"),
        "falsified": words(challenger, "falsified"),
        "baseline": words(baseline, *behind, "ahead"),
    }


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """Texts with the stated constants and these names in place of what they have in braces."""
    if isinstance(value, Mapping):
        return {_filled(key, names): _filled(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, names) for part in value]
    return value.format(**_STATED, **names)


VERSION = "2"
ALPHA = 0.05
POWER = 0.80
MIN_TASKS = 15
MAX_MISSING = Fraction(10, 100)
SEED = 20260430
MIN_INFORMATIVE = 10
CEILING = Fraction(9, 10)
FLOOR = Fraction(1, 10)
HORIZON_S = 60.0
MISSING_PROGRAM_GAP = Fraction(3, 100)
_STATED = {
    "VERSION": VERSION,
    "FLOOR": FLOOR,
    "CEILING": CEILING,
    "NOISE_PP": NOISE_PP,
    "DIRECTION_PP": DIRECTION_PP,
}


def plan_for(contrast: tuple[str, str], *further: tuple[str, str]) -> dict[str, Any]:
    """The plan of a study that contrasts a baseline and its challengers, JSON-ready."""
    baseline, challenger = contrast
    more = [
        {key: plan_for(pair)[key] for key in ("gap", "bands", "conditions")} for pair in further
    ]
    stated = _filled(_TABLE["plan"], {"baseline": baseline, "challenger": challenger})
    return ({"further": more} if more else {}) | {
        **stated,
        "no_verdict": {"tasks_below": MIN_TASKS, "missing_above": str(MAX_MISSING)},
        "alpha": ALPHA,
        "time_horizon_s": HORIZON_S,
        "missing_programs_apart": str(MISSING_PROGRAM_GAP),
        "conditions": {
            shell: {c.name: f"{c.setting}. {c.caveat}" for c in SHELLS[shell].conditions}
            for shell in contrast
        },
    }


def plan_sha256(plan: dict[str, Any]) -> str:
    """SHA-256 of a plan's canonical JSON."""
    return canonical_sha256(plan)


Edge = Literal["floor", "ceiling"]


def edge_of(rate: Fraction) -> Edge | None:
    """The edge that a pass@1 is at, if any."""
    if rate <= FLOOR:
        return "floor"
    return "ceiling" if rate >= CEILING else None
