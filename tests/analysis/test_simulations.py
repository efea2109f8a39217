"""The simulated figures: the pages show them, a row is reproduced, the methods are the report's."""

import json
import re

import numpy as np
import pytest

from fluency.analysis.decision_table import BANDS, band_of
from fluency.analysis.gap import estimate_gap
from fluency.analysis.outcomes import ShellPasses
from fluency.common.paths import ROOT
from fluency.core.tasks import load_tasks
from tests.synthetic_tables import contrasted
from tools.simulate import methods
from tools.simulate.figures import SIZES, TABLES, claims_row
from tools.simulate.pages import FIGURES, pages
from tools.simulate.studies import passing, studies

FOUND = json.loads(FIGURES.read_text())


def test_pages_show_the_figures_as_they_were_simulated():
    for path, text in pages().items():
        assert path.read_text() == text, path
    assert {name: part["studies"] for name, part in FOUND.items()} == {
        name: count for name, (_, count) in TABLES.items()
    }


@pytest.mark.parametrize("gap", [0.0, 0.10])
def test_row_simulated_again_is_the_one_of_the_table(gap):
    again = claims_row(20, 0.7, gap, 0.5, FOUND["claims"]["studies"])
    same = {"tasks": 20, "baseline": 0.7, "gap": gap, "spread": 0.5}
    (row,) = [row for row in FOUND["claims"]["rows"] if same.items() <= row.items()]
    assert row == pytest.approx(again, abs=1e-4)


def test_readme_states_what_each_study_finds():
    """Of a true gap of 10 points, over all populations that the figures have."""
    readme = (ROOT / "README.md").read_text()
    rows = [*FOUND["claims"]["rows"], *FOUND["design"]["rows"]]
    bank = len(load_tasks())
    assert 0 <= bank - SIZES[-1] < 5, "the largest size must be near the bank's: simulate again"
    for tasks, shown in zip(SIZES, (*SIZES[:-1], bank), strict=True):
        found = [row["ahead"] for row in rows if (row["tasks"], abs(row["gap"])) == (tasks, 0.1)]
        low, high = (f"{100 * end:.0f}" for end in (min(found), max(found)))
        assert re.search(rf"\| {shown} \|[^|]+\|[^|]+\| {low} to {high} \|", readme), tasks


def test_interval_keeps_its_level_and_coverage():
    for row in FOUND["claims"]["rows"]:
        assert row["wrongly ahead"] <= 0.062 and row["covers"] >= 0.92, row
    for row in FOUND["levels"]["rows"]:
        assert row["less than 5 at a ceiling, true gap 5"] <= 0.035
        assert row["ahead whatever the missing runs were"] <= 0.035
        assert row["more quiet answers, true gap 0"] <= 0.055
        assert 0.93 <= row["cost ratio covers"] <= 0.97


def test_methods_on_arrays_are_the_reports():
    rng = np.random.default_rng(4)
    for below, above in ((0.5, 0.6), (0.93, 0.96), (0.05, 0.12)):
        found = studies(passing(below, above, 0.5), 40, 20, 5, rng)
        low, high = methods.report_interval(found)
        side, edge = methods.ahead(found), methods.at_an_edge(found)
        rows = methods.rows_of(found.steps.sum(axis=1), 100)
        for n, pair in enumerate(zip(found.baseline, found.challenger, strict=True)):
            counts = [ShellPasses(tuple(own.tolist()), (5,) * 20) for own in pair]
            gap = estimate_gap(contrasted(*counts))
            assert tuple(map(float, gap.interval)) == pytest.approx((low[n], high[n]), abs=0.00101)
            assert {1: "challenger", -1: "baseline", 0: None}[int(side[n])] == gap.ahead
            assert bool(edge[n]) == (gap.edge is not None)
            assert BANDS[rows[n]] == band_of(gap.value)
