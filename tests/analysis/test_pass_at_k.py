"""pass@k and pass^k, and undefined where trials are missing."""

from fractions import Fraction

import pytest
from statsmodels.stats.proportion import proportion_confint

from fluency.analysis.outcomes import ShellPasses
from fluency.analysis.pass_at_k import pass_k
from tests.synthetic_tables import contrasted


def test_the_table_of_tasks_holds_only_complete_ones() -> None:
    bash = ShellPasses((5, 2, 0, 1, 3, 1, 0, 0, 0, 0, 4), (5,) * 10 + (4,))
    pwsh = ShellPasses((1, 5, 2, 0, 0, 0, 0, 0, 0, 0, 5), (5,) * 11)
    found = pass_k(contrasted(bash, pwsh))
    # All counts differ, so that none can stand for another.
    assert (
        found.both,
        found.challenger_only,
        found.baseline_only,
        found.neither,
        found.complete,
    ) == (2, 1, 3, 4, 10)
    assert found.any_of["bash"].value == Fraction(5, 10)
    assert found.any_of["bash"].tasks == 10
    assert found.any_of["pwsh"].value == Fraction(4, 11)
    assert found.all_of["pwsh"].value == Fraction(2, 11)
    # The gap is over the ten complete tasks: the eleventh, which PowerShell always passes, is in neither side of it.
    assert (found.any_gap, found.all_gap) == (Fraction(3 - 5, 10), Fraction(1 - 1, 10))
    assert found.all_of["bash"].interval == pytest.approx(proportion_confint(1, 10, method="beta"))
    assert found.challenger_share == pytest.approx(proportion_confint(1, 4, method="beta"))


def test_with_one_trial_both_are_pass_at_1() -> None:
    found = pass_k(contrasted(ShellPasses((1, 0), (1, 1)), ShellPasses((1, 1), (1, 1)), trials=1))
    assert found.any_of == found.all_of
    assert found.any_of["bash"].value == Fraction(1, 2)


def test_nothing_measured_is_undefined() -> None:
    found = pass_k(contrasted(ShellPasses((0,), (0,)), ShellPasses((0,), (0,))))
    assert found.any_of["bash"].value is None and found.any_gap is None and found.all_gap is None
    assert found.challenger_share is None
