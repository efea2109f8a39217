"""Simulated figures: pages and tables agree, a cell comes out again, and the arrays do what the report's own code does."""

import json
from fractions import Fraction

import numpy as np
import pytest

from fluency.analysis.estimate import estimate_gap
from fluency.analysis.intervals import floored_interval
from fluency.analysis.outcomes import ShellPasses, pair_by_task
from fluency.analysis.plan import BANDS, band_of
from fluency.analysis.robustness import leave_out
from tests.synthetic_tables import contrasted
from tools.simulate import methods
from tools.simulate.figures import TABLES, at_80, design_row, optional_stopping, rng_for
from tools.simulate.pages import BLOCKS, FIGURES, MARKED, PLACE, pages
from tools.simulate.studies import Studies, population, studies

FOUND = json.loads(FIGURES.read_text())


def test_every_page_shows_the_figures_as_they_were_simulated() -> None:
    for path, text in pages().items():
        assert path.read_text() == text, (
            f"write {path.name} with `python -m tools.simulate --pages`"
        )


def test_every_place_has_its_figures_and_every_table_its_rows() -> None:
    marked = [name for path in MARKED for _, name, _ in PLACE.findall(path.read_text())]
    assert sorted(marked) == sorted(BLOCKS)
    planned = {name: count for name, (_, count) in TABLES.items()}
    assert {name: part["studies"] for name, part in FOUND.items()} == planned


@pytest.mark.parametrize(
    ("name", "gap"), [("A", 0.0), ("A2", 0.0), ("B", 0.0), ("C", 0.10), ("D", 0.0)]
)
def test_a_row_simulated_again_is_the_one_of_the_table(name: str, gap: float) -> None:
    again = design_row(name, gap, FOUND["design"]["studies"])
    (row,) = [
        row for row in FOUND["design"]["rows"] if (row["scenario"], row["gap"]) == (name, gap)
    ]
    assert {
        key: round(value, 4) if isinstance(value, float) else value for key, value in again.items()
    } == row


def test_in_scenario_a_the_interval_covers_the_true_gap_and_the_test_keeps_its_level() -> None:
    rows = {row["gap"]: row for row in FOUND["design"]["rows"] if row["scenario"] == "A"}
    assert min(rows[gap]["S covers"] for gap in (0.0, 0.10)) >= 0.93
    assert (
        rows[0.0]["sign-flip rejects"] <= 0.05 and 0.70 <= rows[0.20]["sign-flip rejects"] <= 0.85
    )


def test_the_interval_covers_as_often_as_the_t_interval_and_near_an_edge_more_often() -> None:
    rows = [*FOUND["design"]["rows"], *FOUND["weak_places"]["rows"]]
    assert all(row["S covers"] >= row["t covers"] for row in rows)
    assert (
        max(row["half-width S"] - row["half-width t"] for row in FOUND["design"]["rows"]) <= 0.0051
    )
    assert (
        min(row["t covers"] for row in rows) < 0.90 and min(row["S covers"] for row in rows) >= 0.92
    )


def test_the_mid_p_keeps_the_level_and_finds_more() -> None:
    null, power = (
        [row for row in FOUND["said_ahead"]["rows"] if bool(row["gap"]) == other]
        for other in (0, 1)
    )
    assert max(row["mid-p"] for row in null) <= 0.055 and {row["tasks"] for row in null} == {20, 60}
    assert [row["mid-p"] > row["full p"] + 0.04 for row in power] == [True, True]


def test_on_arrays_the_methods_are_the_reports() -> None:
    edges = studies(population("D", 0.05, 0.9), 40, 20, 5, rng_for("test"))
    for found in (studies(population("A2", 0.05), 40, 20, 5, rng_for("test")), edges):
        _assert_as_reported(found)
    assert {True, False} == set((methods.half(methods.report_interval(edges)) > methods.half(
        methods.report_interval(edges, near_edge=False))).tolist())  # fmt: skip


def _assert_as_reported(found: Studies) -> None:
    d = methods.differences(found)
    s95, s90 = methods.report_interval(found), methods.report_interval(found, 0.90)
    floored = methods.floored_interval(d)
    fixed, side, p = methods.fixed_half(found), methods.ahead(found), methods.flip_p(found)
    full, rows, kept = (
        methods.full_p(found),
        methods.rows_of(found.steps.sum(axis=1), 100),
        methods.survives(found),
    )
    for i in range(40):
        both = (found.baseline[i].tolist(), found.challenger[i].tolist())
        outcomes = contrasted(*(ShellPasses(tuple(passes), (5,) * 20) for passes in both))
        paired = pair_by_task(outcomes)
        exact, gap = paired.differences, estimate_gap(outcomes, dict.fromkeys(paired.tasks, "one"))
        assert (s95[0][i].clip(-1), s95[1][i].clip(-1, 1)) == pytest.approx(gap.s95)
        assert (s90[0][i], s90[1][i]) == pytest.approx(gap.s90)
        assert (floored[0][i], floored[1][i]) == pytest.approx(floored_interval(exact))
        assert fixed[i] == pytest.approx(gap.fixed)
        assert p[i] == pytest.approx(float(gap.p.value)) and full[i] >= p[i]
        assert {1: "challenger", -1: "baseline", 0: None}[side[i]] == gap.claims.ahead
        assert BANDS[rows[i]] == band_of(paired.gap)
        assert bool(kept[i]) == (not leave_out(paired, {task: task for task in paired.tasks}).flips)


def test_rows_of_the_table_are_exact_on_every_edge() -> None:
    totals = np.arange(-100, 101)
    assert [BANDS[place] for place in methods.rows_of(totals, 100)] == [
        band_of(Fraction(int(x), 100)) for x in totals
    ]


def test_the_size_at_eighty_per_cent_lies_on_the_curve() -> None:
    assert at_80([50, 60, 70, 80], [0.70, 0.75, 0.80, 0.84]) == pytest.approx(70, abs=1)


def test_looking_four_times_rejects_at_least_as_often_as_looking_once() -> None:
    for row in optional_stopping(60):
        assert row["any"] >= max(row["first"], row["last"])
