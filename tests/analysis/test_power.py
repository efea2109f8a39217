"""Detectable gaps and the sizes that questions take, against statsmodels and simulation."""

import re

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from fluency.analysis.decision_table import POWER
from fluency.analysis.power import (
    Spread,
    assumed_spread,
    detectable,
    excludes,
    finds,
    outlook,
    outlook_lines,
    sample_sizes,
)
from fluency.analysis.study_analysis import analyse
from fluency.common.paths import ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import PILOT
from fluency.core.table import to_frame, write_table
from fluency.core.tasks import load_tasks
from fluency.report.power import larger_price, main, size_row
from fluency.workflow.preflight import estimate_of
from tests.synthetic_tables import make_rows, make_study, random_passes
from tools.simulate import methods
from tools.simulate.scenarios import SCENARIOS
from tools.simulate.studies import population, studies


@pytest.mark.parametrize("tasks", [5, 20, 60, 200])
def test_detectable_gap_is_statsmodels_effect_size(tasks):
    effect = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=0.8, alternative="two-sided")
    assert detectable(lambda gap: 0.3, tasks) == pytest.approx(0.3 * effect, rel=1e-3)


@pytest.mark.parametrize("name, tasks", [("A", 60), ("C", 116)])
def test_detectable_gap_is_found_four_times_in_five(name, tasks):
    gap = detectable(SCENARIOS[name].spread(5), tasks)
    rates = population(name, round(gap, 3))
    found = methods.ahead(studies(rates, 1500, tasks, 5, np.random.default_rng(1))) == 1
    assert np.mean(found) == pytest.approx(POWER, abs=0.06)


def test_a_scenarios_spread_is_that_of_studies_drawn_from_it():
    scenario, rng = SCENARIOS["A2"], np.random.default_rng(7)
    below, above = (rng.binomial(5, rates) / 5 for rates in scenario.draw(0.0, 20_000, rng))
    assert scenario.spread(5)(0.0) == pytest.approx(np.std(above - below), rel=0.03)


@pytest.mark.parametrize("spread", [0.1, 0.24, 0.287, 0.455])
def test_sample_sizes_are_statsmodels_and_the_smallest(spread):
    sizes = sample_sizes(lambda gap: spread)
    theirs = TTestPower().solve_power(
        effect_size=0.10 / spread, alpha=0.05, power=0.8, alternative="two-sided"
    )
    assert sizes.ahead == int(np.ceil(theirs))
    of = constant(spread)
    assert finds(of, sizes.ahead) >= POWER > finds(of, sizes.ahead - 1)
    less = excludes(of, sizes.no_difference - 1)
    assert excludes(of, sizes.no_difference) >= POWER > less
    assert sample_sizes(lambda gap: 0.0) is None, "no spread is not certainty"


@pytest.mark.parametrize("spread", [0.2, 0.455])
def test_no_difference_size_has_its_power(spread):
    size = sample_sizes(lambda gap: spread).no_difference
    means = scipy.stats.norm.rvs(scale=spread / np.sqrt(size), size=20_000, random_state=1)
    sds = spread * np.sqrt(scipy.stats.chi2.rvs(size - 1, size=20_000, random_state=2) / (size - 1))
    half = scipy.stats.t.ppf(0.975, size - 1) * sds / np.sqrt(size)
    assert np.mean(abs(means) + half < 0.05) == pytest.approx(0.80, abs=0.015)


def constant(spread) -> Spread:
    return lambda gap: spread


def test_size_row_without_a_spread():
    for spread, tasks in ((0.0, 20), (0.3, 1)):
        assert size_row("m", constant(spread), tasks) == ["m", *["n/a"] * 5]


@pytest.mark.parametrize("spread, tasks", [(0.19, 30), (0.1, 20)])
def test_floored_interval_has_the_power_that_is_stated(spread, tasks):
    """Thirty tasks of the example's first model find 10 points in 72 % of studies, not in 80 %."""
    d = np.random.default_rng(1).normal(0.10, spread, (20_000, tasks))
    low, _ = methods.interval_of(d, np.array([[0.1] * 20_000, [0.2] * 20_000]))
    share = finds(constant(spread), tasks, near_edge=True)
    assert share == pytest.approx(np.mean(low > 0), abs=0.01)
    assert share < finds(constant(spread), tasks)


def test_power_states_the_reports_own_number(tmp_path, capsys, monkeypatch):
    study, tasks = make_study(assume=0.9), load_tasks(PILOT)
    loaded = LoadedStudy(study.model_dump(mode="json"), [])
    monkeypatch.setattr("fluency.report.power.RESULTS", tmp_path)

    def numbers(title):
        assert main(loaded) == 0
        lines = capsys.readouterr().out.splitlines()
        (line,) = [line for line in lines if line.startswith(title)]
        return line.removeprefix(title).split()

    assumed = size_row("", assumed_spread(0.9, 5), 20, near_edge=True)
    assert numbers("both shells pass 90 %") == assumed[1:]
    rows = make_rows(study, tasks, random_passes())
    write_table(tmp_path / "made-up/cells.csv", rows)
    needed = analyse(to_frame(rows), study, tasks).contrasts[0].gap.needed
    assert numbers("results of model-x")[-2:] == [str(needed.ahead), str(needed.no_difference)]


def test_outlook_mirrors_and_agrees_with_simulation():
    for rate, tasks in ((0.90, 20), (0.97, 100)):
        cannot_tell, gap = outlook(rate, tasks, 5)
        assert (cannot_tell, gap) == outlook(1 - rate, tasks, 5)
        drawn = studies(population("D", 0.0, rate), 2000, tasks, 5, np.random.default_rng(1))
        assert cannot_tell == pytest.approx(methods.at_an_edge(drawn).mean(), abs=0.04)


def test_outlook_is_in_words():
    said = " ".join(outlook_lines(make_study(assume=0.9), 20))
    assert "`assume: 0.9`), 45 % of studies end with tasks that are easy for both" in said
    assert re.search(
        r"found in \d\d of 100 studies with 20 tasks and \d+ of 100 .* \d+ of `full`", said
    )
    assert "A gap of 22 points is found 80 % of the time; above 90 % a gap of up to 10" in said
    (line,) = outlook_lines(make_study(assume=0.6), 14)
    assert line == "A verdict needs 15 tasks, this study has 14."
    assert outlook_lines(make_study(shells=("bash",)), 20) == []


def test_larger_price_of_the_recommended_study():
    """The price is the one that its own configuration has."""
    full = LoadedStudy(None, [ROOT / "config/study-full.yaml"])
    cost = estimate_of(full)
    (line,) = larger_price(full.study, 20)
    assert f"{len(full.tasks)} tasks of `full`: about ${cost.expected_usd:.2f}, at most" in line
    assert larger_price(full.study, len(full.tasks)) == []
