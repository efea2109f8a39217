"""Detectable gaps and the sizes that questions take, against statsmodels and simulation."""

import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from fluency.analysis.decision_table import POWER
from fluency.analysis.outcomes import ShellPasses
from fluency.analysis.power import (
    detectable,
    excludes,
    finds,
    main,
    noncentrality,
    outlook,
    outlook_lines,
    pilot_variance,
    power_text,
    sample_sizes,
    scenario_variance,
    set_rows,
)
from fluency.analysis.scenarios import SCENARIOS, draw_rates
from fluency.analysis.study_analysis import analyse
from fluency.common.paths import ROOT
from fluency.core.study import PILOT, read_study
from fluency.core.table import to_frame, write_table
from fluency.core.tasks import load_tasks, task_sets
from tests.synthetic_tables import contrasted, make_rows, make_study, random_passes
from tools.simulate import methods
from tools.simulate.studies import population, studies


@pytest.mark.parametrize("tasks", [5, 20, 60, 200])
def test_noncentrality_is_statsmodels_effect_size(tasks: int) -> None:
    effect = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=0.8, alternative="two-sided")
    assert noncentrality(tasks) == pytest.approx(effect * math.sqrt(tasks), rel=1e-3)


@pytest.mark.parametrize(("name", "tasks"), [("A", 60), ("C", 116)])
def test_detectable_gap_is_found_four_times_in_five(name: str, tasks: int) -> None:
    gap = detectable(scenario_variance(SCENARIOS[name]), tasks, 5)
    rates = population(name, round(gap, 3))
    found = methods.ahead(studies(rates, 1500, tasks, 5, np.random.default_rng(1))) == 1
    assert np.mean(found) == pytest.approx(POWER, abs=0.06)


def test_detectable_gap_shrinks_with_tasks_and_with_trials_down_to_a_floor() -> None:
    variance = scenario_variance(SCENARIOS["A2"])
    by_tasks = [detectable(variance, tasks, 5) for tasks in (20, 40, 100)]
    by_trials = [detectable(variance, 20, trials) for trials in (1, 5, 20, math.inf)]
    assert by_tasks == sorted(by_tasks, reverse=True)
    assert by_trials == sorted(by_trials, reverse=True) and by_trials[-1] > 0.10


def test_pilot_variances_are_unbiased() -> None:
    scenario, rng = SCENARIOS["A2"], np.random.default_rng(7)
    found = []
    for _ in range(150):
        rates = draw_rates(scenario, 0.0, 20, rng)
        counts = [ShellPasses(tuple(rng.binomial(5, r).tolist()), (5,) * 20) for r in rates]
        found.append(pilot_variance(contrasted(*counts)))
    between, within = scenario_variance(scenario)(0.0)
    assert np.mean([pilot.within for pilot in found]) == pytest.approx(within, rel=0.06)
    assert np.mean([pilot.between for pilot in found]) == pytest.approx(between, rel=0.15)


def test_pilot_variance_needs_two_trials() -> None:
    single = contrasted(ShellPasses((1, 0), (1, 1)), ShellPasses((1, 1), (1, 1)), trials=1)
    assert pilot_variance(single) is None


def test_pilot_without_variance_between_tasks_uses_the_end_of_its_interval() -> None:
    counts = ShellPasses((1, 4, 2, 3) * 5, (5,) * 20), ShellPasses((2, 2, 3, 4) * 5, (5,) * 20)
    pilot = pilot_variance(contrasted(*counts))
    variance = np.var(np.subtract(counts[1].passes, counts[0].passes) / 5, ddof=1)
    end = 19 * variance / scipy.stats.chi2.ppf(0.025, 19)
    assert pilot.between == 0 and pilot.upper == pytest.approx(end - pilot.within / 5)
    text = power_text([("m", pilot)], 20, 5, {})
    assert "No variance between tasks was seen for m" in text and " 0.0" not in text
    alike = contrasted(ShellPasses((0,) * 20, (5,) * 20), ShellPasses((5,) * 20, (5,) * 20))
    assert pilot_variance(alike) == (0, 0, 0, 0)
    assert "n/a*" in power_text([("m", pilot_variance(alike))], 20, 5, {})


@pytest.mark.parametrize("spread", [0.1, 0.24, 0.287, 0.455])
def test_sample_sizes_are_statsmodels_and_the_smallest(spread: float) -> None:
    sizes = sample_sizes(spread)
    theirs = TTestPower().solve_power(
        effect_size=0.10 / spread, alpha=0.05, power=0.8, alternative="two-sided"
    )
    assert sizes.ahead == int(np.ceil(theirs))
    assert finds(0.10 / spread, sizes.ahead) >= POWER > finds(0.10 / spread, sizes.ahead - 1)
    less = excludes(0.05 / spread, sizes.no_difference - 1)
    assert excludes(0.05 / spread, sizes.no_difference) >= POWER > less
    assert sample_sizes(0.0) is None, "no spread is not certainty"


@pytest.mark.parametrize("spread", [0.2, 0.455])
def test_no_difference_is_shown_four_times_in_five_at_its_size(spread: float) -> None:
    size = sample_sizes(spread).no_difference
    means = scipy.stats.norm.rvs(scale=spread / np.sqrt(size), size=20_000, random_state=1)
    sds = spread * np.sqrt(scipy.stats.chi2.rvs(size - 1, size=20_000, random_state=2) / (size - 1))
    half = scipy.stats.t.ppf(0.975, size - 1) * sds / np.sqrt(size)
    assert np.mean(abs(means) + half < 0.05) == pytest.approx(0.80, abs=0.015)


def test_power_text_marks_the_design_and_compares_the_sets() -> None:
    study = read_study(ROOT / "config" / "study-60.yaml")
    assert (study.tasks, study.trials, study.shells) == ("full-60", 5, ["bash", "pwsh"])
    sets = {name: len(found.tasks) for name, found in task_sets().items()}
    text = power_text([], 60, 5, sets)
    assert "60 tasks x 5 trials" in text and text.count("*") == len(SCENARIOS) + 1
    lines = [line.split() for line in text.splitlines()]
    for name, scenario in SCENARIOS.items():
        for row in set_rows([(f"scenario {name}", scenario_variance(scenario))], sets, 5):
            assert " ".join(row).split() in lines


def test_power_states_the_reports_own_number(tmp_path, capsys) -> None:
    study, tasks = make_study(), load_tasks(PILOT)
    assert main(study, tmp_path) == 0 and "no results with two trials" in capsys.readouterr().out
    rows = make_rows(study, tasks, random_passes())
    write_table(tmp_path / "synthetic" / "cells.csv", rows)
    (model,) = analyse(to_frame(rows), study, tasks).models
    needed = [str(model.gap.needed.ahead), str(model.gap.needed.no_difference)]
    assert main(study, tmp_path) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["results", "of", "model-x", *needed] in lines


def test_outlook_is_that_of_the_mirrored_rate_and_of_simulated_studies() -> None:
    for rate, tasks in ((0.90, 20), (0.97, 100)):
        found = outlook(rate, tasks, 5)
        assert found == outlook(1 - rate, tasks, 5)
        drawn = studies(population("D", 0.0, rate), 2000, tasks, 5, np.random.default_rng(1))
        assert found.cannot_tell == pytest.approx(methods.at_an_edge(drawn).mean(), abs=0.04)


def test_outlook_is_in_words() -> None:
    said = " ".join(outlook_lines(make_study(assume=0.9), 20))
    assert "`assume: 0.9`), 45 % of studies end with tasks too easy to tell" in said
    assert "A gap of 22 points is found 80 % of the time" in said
    assert outlook_lines(make_study(assume=0.6), 14) == [
        "A verdict needs 15 tasks, this study has 14."
    ]
    assert outlook_lines(make_study(shells=("bash",)), 20) == []
