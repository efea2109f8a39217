"""The analysis plan: every constant a result depends on, in one place, with a hash that the report prints."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fluency.analysis.bands import band_words
from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.core.shells import SHELLS

VERSION = "2"
ALPHA = 0.05
POWER = 0.80
MIN_TASKS = 15
MAX_MISSING = Fraction(10, 100)
RESAMPLES = 10_000
RESAMPLE_SEED = 20260430
MAX_STATES = 100_000
FLIPS = 100_000
MIN_INFORMATIVE = 10
MIN_DIFFERING = 6
CEILING = Fraction(9, 10)
FLOOR = Fraction(1, 10)
HORIZON_S = 60.0
MISSING_APART = Fraction(3, 100)


def plan_for(contrast: tuple[str, str]) -> dict[str, Any]:
    """The plan of a study that contrasts a baseline and a challenger, JSON-ready."""
    baseline, challenger = contrast
    names = {"baseline": baseline, "challenger": challenger}
    return {
        "version": VERSION,
        "gap": f"pass@1({challenger}) - pass@1({baseline}), equal task weight, exact fractions, one model at a time",
        "bands": {names.get(band, band): words.rule for band, words in band_words(contrast).items()},
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
                "the engine or somebody outside ended it, three times at most",
            ],
        },
        "task_enters": "at least ceil(trials / 2) measured trials in both shells",
        "no_verdict": {"tasks_below": MIN_TASKS, "missing_above": str(MAX_MISSING)},
        "no_room": f"pass@1 of both arms <= {FLOOR}, or of both >= {CEILING}: the tasks cannot tell, the band is a "
        "label, nothing is claimed of the size of the gap, and nothing proposed",
        "carried": {
            "ahead": "p <= alpha and the 95 % interval leaves out 0",
            "10 pp or more": "ahead, and the whole 95 % interval is beyond 10 pp",
            "less than 5 pp, less than 10 pp": "the 90 % interval is within",
            "5 to 10 pp": "ahead, and the 90 % interval is between",
        },
        "primary_interval": "paired t over the per-task differences",
        "primary_p": f"exact sign-flip over tasks, two-sided; {FLIPS} seeded flips where its sums are more than "
        f"{MAX_STATES} units apart, held against alpha with the end of their 95 % interval",
        "fixed_task_interval": "normal, binomial trial noise within task and shell",
        "floored_interval": "two pseudo-tasks at +-1/2 in the variance only, df = T + 1",
        "alpha": ALPHA,
        "power": POWER,
        "resamples": RESAMPLES,
        "resample_seed": RESAMPLE_SEED,
        "time_horizon_s": HORIZON_S,
        "missing_programs_apart": str(MISSING_APART),
        "conditions": {
            shell: {c.name: f"{c.setting}. {c.caveat}" for c in SHELLS[shell].conditions} for shell in contrast
        },
        "models": "never pooled, not ranked",
    }


def plan_sha256(plan: dict[str, Any]) -> str:
    """SHA-256 of a plan's canonical JSON."""
    return sha256(canonical_json(plan))
