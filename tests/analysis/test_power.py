"""Detectable gaps and the sizes that questions take, against statsmodels, against simulation, and against the documented table."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from fluency.analysis.intervals import t_interval
from fluency.analysis.outcomes import ShellPasses
from fluency.analysis.plan import POWER
from fluency.analysis.power import (
    Pilot,
    detectable_like,
    detectable_these,
    excludes,
    finds,
    half_width,
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
from fluency.analysis.simulated import SAMPLE_SIZES
from fluency.common.paths import ROOT
from fluency.core.study import PILOT, read_study
from fluency.core.table import write_table
from fluency.core.tasks import load_tasks, task_sets
from tests.synthetic_tables import contrasted, make_rows, make_study, random_passes
from tools.simulate import methods
from tools.simulate.pages import FIGURES
from tools.simulate.studies import population, studies


@pytest.mark.parametrize("tasks", [5, 20, 60, 200])
def test_the_shift_is_statsmodels_effect_size(tasks: int) -> None:
    effect = TTestPower().solve_power(nobs=tasks, alpha=0.05, power=0.8, alternative="two-sided")
    assert noncentrality(tasks) == pytest.approx(effect * math.sqrt(tasks), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "tasks", "trials", "points"),
    [
        ("A", 20, 5, 22),
        ("A", 20, 1, 31),
        ("A", 60, 5, 11),
        ("A2", 20, 20, 14),
        ("C", 20, 5, 27),
        ("C", 100, 5, 12),
    ],
)
def test_the_scenarios_give_the_documented_gaps(
    name: str, tasks: int, trials: int, points: float
) -> None:
    assert 100 * detectable_like(
        scenario_variance(SCENARIOS[name]), tasks, trials
    ) == pytest.approx(points, abs=0.8)


def test_the_detectable_gap_is_detected_four_times_in_five() -> None:
    scenario = SCENARIOS["A"]
    gap = detectable_like(scenario_variance(scenario), 60, 5)
    rng = np.random.default_rng(2)
    bash, pwsh = draw_rates(scenario, gap, 600 * 60, rng)
    counts = (rng.binomial(5, pwsh).astype(int) - rng.binomial(5, bash).astype(int)).reshape(
        600, 60
    )
    found = np.mean([t_interval([Fraction(int(c), 5) for c in study]).low > 0 for study in counts])
    assert found == pytest.approx(0.80, abs=0.06)


@pytest.mark.parametrize(("tasks", "trials"), [(20, 5), (60, 1)])
def test_on_these_tasks_the_normal_shift_is_spent_on_trial_noise_alone(
    tasks: int, trials: int
) -> None:
    normal = scipy.stats.norm
    shift = normal.ppf(0.975) + normal.ppf(0.80)
    found = detectable_these(lambda gap: (7.0, 0.3), tasks, trials)
    assert found == pytest.approx(shift * math.sqrt(0.3 / trials / tasks))


def test_more_tasks_always_help_and_more_trials_help_down_to_a_floor() -> None:
    variance = scenario_variance(SCENARIOS["A2"])
    by_tasks = [detectable_like(variance, tasks, 5) for tasks in (20, 40, 100)]
    by_trials = [detectable_like(variance, 20, trials) for trials in (1, 5, 20, math.inf)]
    assert by_tasks == sorted(by_tasks, reverse=True) and by_trials == sorted(
        by_trials, reverse=True
    )
    assert by_trials[-1] > 0.10 and detectable_these(variance, 20, 20) < by_trials[-1]


def test_a_pilots_variances_are_unbiased() -> None:
    scenario, rng = SCENARIOS["A2"], np.random.default_rng(7)
    found = []
    for _ in range(150):
        bash, pwsh = draw_rates(scenario, 0.0, 20, rng)
        counts = [
            ShellPasses(tuple(rng.binomial(5, rate).tolist()), (5,) * 20) for rate in (bash, pwsh)
        ]
        found.append(pilot_variance(contrasted(*counts)))
    between, within = scenario_variance(scenario)(0.0)
    assert np.mean([f[1] for f in found]) == pytest.approx(within, rel=0.06)
    assert np.mean([f[0] for f in found]) == pytest.approx(between, rel=0.15)


def test_one_trial_cannot_tell_tasks_from_trials() -> None:
    assert (
        pilot_variance(
            contrasted(ShellPasses((1, 0), (1, 1)), ShellPasses((1, 1), (1, 1)), trials=1)
        )
        is None
    )


def test_the_present_design_is_marked_and_the_source_is_named() -> None:
    text = power_text([], 25, 4, {})
    assert (
        "25 tasks x 4 trials" in text
        and text.count("*") == 2 * len(SCENARIOS) + 1
        and "scenario A" in text
    )
    assert "from the results of model-x;" in power_text(
        [("model-x", Pilot(0.05, 0.3, 0.1))], 20, 5, {}
    )


def test_the_three_questions_have_their_simulated_sizes_by_scenario() -> None:
    lines = power_text([], 20, 5, {}).splitlines()
    for name, sizes in SAMPLE_SIZES.items():
        assert [name, *(str(n or "n/a") for n in sizes)] in [line.split() for line in lines]
    ahead, _, level = SAMPLE_SIZES["A"]
    assert ahead == pytest.approx(66, abs=5) and SAMPLE_SIZES["C"][0] == pytest.approx(155, abs=10)
    assert level == pytest.approx(300, rel=0.1) and SAMPLE_SIZES["C"][2] > 2 * level


@pytest.mark.parametrize("name", sorted(SAMPLE_SIZES))
def test_the_formula_for_a_study_agrees_with_the_simulation_of_the_scenarios(name: str) -> None:
    ahead, _, no_difference = SAMPLE_SIZES[name]
    for gap, field, simulated, most in (
        (0.10, "ahead", ahead, 1.25),
        (0.0, "no_difference", no_difference, 1.12),
    ):
        between, within = scenario_variance(SCENARIOS[name])(gap)
        found = getattr(sample_sizes((between + within / 5) ** 0.5), field)
        assert 0.88 * simulated <= found <= most * simulated


@pytest.mark.parametrize("spread", [0.1, 0.24, 0.287, 0.455])
def test_who_is_ahead_takes_statsmodels_size(spread: float) -> None:
    theirs = TTestPower().solve_power(
        effect_size=0.10 / spread, alpha=0.05, power=0.8, alternative="two-sided"
    )
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
    assert (
        excludes(0.05 / spread, sizes.no_difference)
        >= POWER
        > excludes(0.05 / spread, sizes.no_difference - 1)
    )
    assert 3 < sizes.no_difference / sizes.ahead < 6 or spread == 0.05
    assert sample_sizes(0.0) is None, "no spread is no certainty"


def test_no_variance_between_tasks_is_no_gap_of_zero() -> None:
    """A pilot whose tasks differ by less than their trials' noise: the end of the interval is used, and it says so."""
    counts = ShellPasses((1, 4, 2, 3) * 5, (5,) * 20), ShellPasses((2, 2, 3, 4) * 5, (5,) * 20)
    pilot = pilot_variance(contrasted(*counts))
    end = (
        19
        * np.var(np.subtract(counts[1].passes, counts[0].passes) / 5, ddof=1)
        / scipy.stats.chi2.ppf(0.025, 19)
    )
    assert pilot.between == 0 and pilot.upper == pytest.approx(end - pilot.within / 5)
    text = power_text([("m", pilot)], 20, 5, {})
    assert "no variance between tasks was seen" in text and " 0.0" not in text
    assert text.count("n/a") == 1, (
        "with the end of the interval every cell has a gap; the legend alone names n/a"
    )
    alike = pilot_variance(
        contrasted(ShellPasses((0,) * 20, (5,) * 20), ShellPasses((5,) * 20, (5,) * 20))
    )
    assert alike == (0, 0, 0)
    nothing = power_text([("m", alike)], 20, 5, {})
    assert " 0.0" not in nothing and nothing.count("n/a*") == 2 and "n/a: nothing varied" in nothing


@pytest.mark.parametrize("tasks", [10, 40])
def test_the_end_of_the_interval_lies_above_the_variance_in_nearly_all_pilots(tasks: int) -> None:
    rng, above = np.random.default_rng(3), []
    for _ in range(400):
        rates = 0.5 + rng.normal(0, 0.1, tasks).clip(-0.4, 0.4)
        both = (rng.binomial(20, rate).tolist() for rate in (np.full(tasks, 0.5), rates))
        counts = [ShellPasses(tuple(passes), (20,) * tasks) for passes in both]
        above.append(pilot_variance(contrasted(*counts)).upper > 0.01)
    assert np.mean(above) == pytest.approx(0.975, abs=0.025)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_half_width_of_a_set_is_the_one_that_was_simulated(name: str) -> None:
    design = json.loads(FIGURES.read_text(encoding="utf-8"))["design"]["rows"]
    (simulated,) = [
        row["half-width S"] for row in design if (row["scenario"], row["gap"]) == (name, 0.0)
    ]
    assert half_width(scenario_variance(SCENARIOS[name]), 20, 5) == pytest.approx(
        simulated, rel=0.12
    )


def test_the_study_of_sixty_asks_both_shells_five_times_and_its_sets_stand_in_one_table() -> None:
    study = read_study(ROOT / "config" / "study-60.yaml")
    assert (study.tasks, study.trials, study.shells) == ("full-60", 5, ["bash", "pwsh"])
    assert study.budget.confirm_usd == 0, "a paid study always asks"
    sets = {name: len(found.tasks) for name, found in task_sets().items()}
    lines = [line.split() for line in power_text([], 60, 5, sets).splitlines()]
    for name, scenario in SCENARIOS.items():
        small, large, *_ = set_rows([(f"scenario {name}", scenario_variance(scenario))], sets, 5)
        assert " ".join(small).split() in lines and " ".join(large).split() in lines
        assert [small[1:3], large[1:3]] == [["pilot-20", "20"], ["full-60", "60"]]
        assert all(
            float(more) < float(less) for less, more in zip(small[3:], large[3:], strict=True)
        )


def test_main_takes_the_studys_own_results_where_there_are_some(tmp_path, capsys) -> None:
    study = make_study()
    assert main(study, tmp_path) == 0 and "no results with two trials" in capsys.readouterr().out
    write_table(
        tmp_path / "synthetic" / "cells.csv", make_rows(study, load_tasks(PILOT), random_passes())
    )
    assert main(study, tmp_path) == 0 and "from the results of model-x" in capsys.readouterr().out


@pytest.mark.parametrize(("rate", "tasks"), [(0.90, 20), (0.95, 20), (0.90, 60), (0.97, 100)])
def test_the_chance_of_cannot_tell_is_that_of_the_simulations_and_of_the_mirrored_rate(
    rate: float, tasks: int
) -> None:
    rows = json.loads(FIGURES.read_text())["weak_places"]["rows"]
    (row,) = [
        row for row in rows if (row["tasks"], row["baseline"], row["gap"]) == (tasks, rate, 0.0)
    ]
    found = outlook(rate, tasks, 5)
    assert found.cannot_tell == pytest.approx(row["cannot tell"], abs=0.04)
    assert found == outlook(1 - rate, tasks, 5)


def test_the_outlook_finds_its_gap_as_often_as_it_says() -> None:
    found = outlook(0.90, 60, 5)
    rates = population("D", -round(found.gap, 3), 0.90)
    share = np.mean(methods.ahead(studies(rates, 1000, 60, 5, np.random.default_rng(1))) == -1)
    assert share == pytest.approx(POWER, abs=0.08)


@pytest.mark.parametrize(
    ("assume", "words"),
    [
        (
            0.9,
            "`assume: 0.9`), 45 % of studies end with *cannot tell*. A gap of 22 points is found 80 % of the time;",
        ),
        (
            0.92,
            "out of reach at that rate: PowerShell ahead by 10 pp or more, Bash ahead by 10 pp or more.",
        ),
        (0.6, "`assume: 0.6`), 0 % of studies"),
    ],
)
def test_the_outlook_is_in_words(assume: float, words: str) -> None:
    study = make_study(assume=assume)
    said = " ".join(outlook_lines(study, 20))
    assert words in said and ("out of reach" in said) == (assume > 0.9)
    assert outlook_lines(study, 14) == ["A verdict needs 15 tasks, this study has 14."]
    assert outlook_lines(make_study(shells=("bash",)), 20) == []
