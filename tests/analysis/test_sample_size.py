"""How many tasks each question takes: against statsmodels, against simulation, and in the limits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from fluency.analysis.plan import POWER
from fluency.analysis.power import excludes, finds, sample_sizes


@pytest.mark.parametrize("spread", [0.1, 0.24, 0.287, 0.455])
def test_who_is_ahead_takes_statsmodels_size(spread: float) -> None:
    theirs = TTestPower().solve_power(effect_size=0.10 / spread, alpha=0.05, power=0.8, alternative="two-sided")
    assert sample_sizes(spread).ahead == int(np.ceil(theirs))


@pytest.mark.parametrize("spread", [0.2, 0.287, 0.455])
def test_no_difference_is_shown_four_times_in_five_at_its_size(spread: float) -> None:
    size = sample_sizes(spread).no_difference
    means = scipy.stats.norm.rvs(scale=spread / np.sqrt(size), size=20_000, random_state=1)
    sds = spread * np.sqrt(scipy.stats.chi2.rvs(size - 1, size=20_000, random_state=2) / (size - 1))
    half = scipy.stats.t.ppf(0.95, size - 1) * sds / np.sqrt(size)
    assert np.mean(abs(means) + half < 0.05) == pytest.approx(0.80, abs=0.015)


@pytest.mark.parametrize("spread", [0.05, 0.287, 0.6])
def test_one_task_less_is_not_enough_and_no_difference_takes_far_more(spread: float) -> None:
    sizes = sample_sizes(spread)
    assert finds(0.10 / spread, sizes.ahead) >= POWER > finds(0.10 / spread, sizes.ahead - 1)
    assert excludes(0.05 / spread, sizes.no_difference) >= POWER > excludes(0.05 / spread, sizes.no_difference - 1)
    assert 3 < sizes.no_difference / sizes.ahead < 6 or spread == 0.05


def test_no_spread_is_no_certainty() -> None:
    assert sample_sizes(0.0) is None
