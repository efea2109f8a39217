"""The plan of the analysis: its constants, its text with a hash, and the decision table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal, get_args

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import DESIGN_SHELLS, SHELLS, Shell

DIRECTION = Fraction(10, 100)
NOISE = Fraction(5, 100)
DIRECTION_PP, NOISE_PP = int(100 * DIRECTION), int(100 * NOISE)
"""The same in percentage points, for sentences."""
Band = Literal["challenger", "inconclusive", "falsified", "baseline"]
BANDS: tuple[Band, ...] = get_args(Band)
DIRECTIONS: tuple[Band, Band] = ("challenger", "baseline")
"""The bands that say which shell is ahead."""
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
    behind, first = _ahead(baseline), _ahead(challenger)
    if contrast != DESIGN_SHELLS:
        behind, first = (replace(one, **_NO_RULE) for one in (behind, first))
    elif policy := challenger.policy:  # for reasons that no study measures
        behind = replace(
            behind,
            reading=f"the {policy} stance is based on policy and parsing; do not extend it to code "
            "generation",
            changes=f"The {policy} stance is from now on argued from policy and parsing alone, "
            "and is not extended to code generation.",
            stays=f"The policy and parsing reasons for {challenger.short_title}, which this study "
            "did not look at.",
        )
    return {
        "challenger": first,
        "inconclusive": BandWords(
            condition=f"{NOISE_PP} to {DIRECTION_PP} pp either way",
            reading="no rule",
            changes="Nothing changes: the decision table has no rule for a gap of "
            f"{NOISE_PP} to {DIRECTION_PP} points.",
            stays="The shell policy as it stands.",
        ),
        "falsified": BandWords(
            condition=f"less than {NOISE_PP} pp either way",
            reading="hypothesis falsified: treat as noise, change nothing",
            changes="Nothing changes.",
            stays=f"The shell policy as it stands. A gap below {NOISE_PP} points is a label, not a "
            "proof of equality.",
        ),
        "baseline": behind,
    }


_NO_RULE = {
    "reading": "supported, and the design has no rule for this pair",
    "changes": "Nothing by itself: the design's table is about PowerShell against Bash.",
    "stays": "The shell policy as it stands.",
}


def _ahead(shell: Shell) -> BandWords:
    name = shell.short_title
    return BandWords(
        condition=f"{name} ahead by {DIRECTION_PP} pp or more",
        reading=f"mild evidence to prefer {name} prompts",
        changes=f"Prompts may prefer {shell.title} for one-shot commands; the evidence is mild.",
        stays="Everything beyond the shell that one-shot prompts name.",
    )


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


def plan_for(contrast: tuple[str, str], *further: tuple[str, str]) -> dict[str, Any]:
    """The plan of a study that contrasts a baseline and its challengers, JSON-ready."""
    baseline, challenger = contrast
    more = [
        {key: plan_for(pair)[key] for key in ("gap", "bands", "conditions")} for pair in further
    ]
    return ({"further": more} if more else {}) | {
        "version": VERSION,
        "gap": f"pass@1({challenger}) - pass@1({baseline}), equal task weight, exact fractions, "
        "one model at a time",
        "bands": {
            challenger: f"gap >= {DIRECTION_PP} pp",
            "inconclusive": f"{NOISE_PP} pp <= |gap| < {DIRECTION_PP} pp",
            "falsified": f"|gap| < {NOISE_PP} pp",
            baseline: f"gap <= -{DIRECTION_PP} pp",
        },
        "states": {
            "fail": [
                "timeout of the command",
                "wrong output",
                "non-zero exit",
                "refusal",
                "no command",
                "truncated",
                "a result lost after the command had started",
            ],
            "missing": [
                "the model could not be asked",
                "the sandbox failed before the command started",
                "the engine or an outside action ended it, three times at most",
            ],
        },
        "task_enters": "at least ceil(trials / 2) measured trials in both shells",
        "no_verdict": {"tasks_below": MIN_TASKS, "missing_above": str(MAX_MISSING)},
        "interval": "95 %, paired t over the per-task differences, T - 1 degrees of freedom; the "
        f"floored one where all differences are equal, and where a shell's pass@1 is <= {FLOOR} or "
        f">= {CEILING} if it is wider; rounded to a tenth of a point",
        "floored": "two pseudo-tasks at +-1/2 in the variance only, df = T + 1",
        "claims": {
            "ahead": "the interval excludes 0",
            "10 pp or more": "the interval lies at or beyond 10 pp",
            "less than 5 pp, less than 10 pp": "the interval lies within",
            "a row of the table is supported": "the interval lies in it",
        },
        "at an edge": f"pass@1 of both shells <= {FLOOR}, or of both >= {CEILING}: the claims are "
        "made of these tasks",
        "missing runs": "a claim or row that fails where all had gone one way is made only on what "
        "was measured",
        "quiet wrong": "status 0, something printed, nothing on standard error, wrong, in every "
        "world; per measured run, by the same interval",
        "alpha": ALPHA,
        "time_horizon_s": HORIZON_S,
        "missing_programs_apart": str(MISSING_PROGRAM_GAP),
        "conditions": {
            shell: {c.name: f"{c.setting}. {c.caveat}" for c in SHELLS[shell].conditions}
            for shell in contrast
        },
        "models": "never pooled, not ranked",
    }


def plan_sha256(plan: dict[str, Any]) -> str:
    """SHA-256 of a plan's canonical JSON."""
    return sha256(canonical_json(plan))


Edge = Literal["floor", "ceiling"]


def edge_of(rate: Fraction) -> Edge | None:
    """The edge that a pass@1 is at, if any."""
    if rate <= FLOOR:
        return "floor"
    return "ceiling" if rate >= CEILING else None
