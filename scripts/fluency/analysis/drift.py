"""Drift: the answers of one model in the order they were asked, in stretches of equal size; described, not tested.

The shells are asked in one mixed order, so what drifts meets both; this shows whether anything did.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np
import pandas as pd

from fluency.analysis.outcomes import one_model

STRETCHES = 4
ENOUGH = 20


@dataclass(frozen=True)
class StretchOfArm:
    """One shell within a stretch; t_gen: median seconds of generation, None where none was taken."""

    passes: int
    scored: int
    t_gen: float | None


@dataclass(frozen=True)
class Stretch:
    """Some answers in a row: when the first and the last of them came (UTC), and how each shell did."""

    first_utc: str
    last_utc: str
    arms: dict[str, StretchOfArm]


def drift(rows: pd.DataFrame, shells: list[str]) -> tuple[Stretch, ...]:
    """Up to four stretches, none empty, of sizes that differ by one answer at most; only measured cells count."""
    one_model(rows)
    known = rows[(rows["status"] == "measured") & rows["passed"].notna() & rows["asked_utc"].notna()]
    ordered = known.sort_values(["asked_utc", "shell", "task", "trial"])
    parts = np.array_split(np.arange(len(ordered)), min(STRETCHES, len(ordered)) or 1)
    return tuple(_stretch(ordered.iloc[part], shells) for part in parts if len(part))


def _stretch(part: pd.DataFrame, shells: list[str]) -> Stretch:
    arms = {}
    for shell in shells:
        own = part[part["shell"] == shell]
        taken = [float(value) for value in own["t_gen_s"].dropna()]
        arms[shell] = StretchOfArm(int(own["passed"].sum()), len(own), median(taken) if taken else None)
    return Stretch(part["asked_utc"].iloc[0], part["asked_utc"].iloc[-1], arms)


def grew_after(rows: pd.DataFrame) -> tuple[int, ...]:
    """The trials of one model after which its study grew: the later ones were asked for when those had been answered.

    In one run trials are asked in one mixed order. So a study grew where 95 % of the answers up to a trial came before
    95 % of those beyond it; at least 20 on either side, so that a mixed order does not look like it.
    """
    one_model(rows)
    asked = rows[rows["asked_utc"].notna()]
    trials, times = asked["trial"].to_numpy(), np.unique(asked["asked_utc"].tolist(), return_inverse=True)[1]
    found = []
    for last in np.unique(trials)[:-1]:
        early, late = np.sort(times[trials <= last]), np.sort(times[trials > last])
        few = min(len(early), len(late)) < ENOUGH
        if not few and early[int(0.95 * len(early))] < late[int(0.05 * len(late))]:
            found.append(int(last))
    return tuple(found)
