"""Simulated studies of the design's own size: the interval covers the true gap, the test keeps its level."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluency.analysis.intervals import floored_interval, sign_flip, t_interval
from fluency.analysis.scenarios import SCENARIOS, draw_rates

STUDIES, TASKS, TRIALS = 3000, 20, 5
A = replace(SCENARIOS["A"], mean=0.60)


def studies(gap: float, seed: int) -> list[list[Fraction]]:
    rng = np.random.default_rng(seed)
    bash, pwsh = draw_rates(A, gap, STUDIES * TASKS, rng)
    counts = rng.binomial(TRIALS, pwsh).astype(int) - rng.binomial(TRIALS, bash).astype(int)
    exact = {count: Fraction(count, TRIALS) for count in range(-TRIALS, TRIALS + 1)}
    return [[exact[count] for count in study] for study in counts.reshape(STUDIES, TASKS).tolist()]


@pytest.mark.parametrize("gap", [0.0, 0.10])
def test_the_interval_covers_the_true_gap_in_scenario_a(gap: float) -> None:
    intervals = [t_interval(d) or floored_interval(d) for d in studies(gap, seed=4)]
    covered = np.mean([low <= gap <= high for low, high in intervals])
    assert covered >= 0.93


def test_the_test_keeps_its_level_and_is_not_empty() -> None:
    level = np.mean([sign_flip(d).value <= Fraction(1, 20) for d in studies(0.0, seed=5)])
    power = np.mean([sign_flip(d).value <= Fraction(1, 20) for d in studies(0.20, seed=6)[:1000]])
    assert level <= 0.05
    assert 0.70 <= power <= 0.85, "the documented power at a true gap of 20 points is 77 %"
