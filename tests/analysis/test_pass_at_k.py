"""pass@k, and undefined where trials are missing."""

from fractions import Fraction

import pytest
from statsmodels.stats.proportion import proportion_confint

from fluency.analysis.descriptive import pass_k
from fluency.analysis.outcomes import ShellPasses
from tests.synthetic_tables import contrasted


def test_pass_k_counts_complete_tasks_only() -> None:
    bash = ShellPasses((5, 2, 0, 1, 3, 1, 0, 0, 0, 0, 4), (5,) * 10 + (4,))
    pwsh = ShellPasses((1, 5, 2, 0, 0, 0, 0, 0, 0, 0, 5), (5,) * 11)
    found = pass_k(contrasted(bash, pwsh))
    # All counts differ, so that no count can replace another.
    assert (
        found.both,
        found.challenger_only,
        found.baseline_only,
        found.neither,
        found.complete,
    ) == (2, 1, 3, 4, 10)
    assert found.shares["bash"].value == Fraction(5, 10)
    assert found.shares["bash"].tasks == 10
    assert found.shares["pwsh"].value == Fraction(4, 11)
    # The gap is over the ten complete tasks: the eleventh, which PowerShell always passes, is in neither side of it.
    assert found.gap == Fraction(3 - 5, 10)
    interval = proportion_confint(5, 10, method="beta")
    assert found.shares["bash"].interval == pytest.approx(interval)


def test_pass_k_of_nothing_is_undefined() -> None:
    found = pass_k(contrasted(ShellPasses((0,), (0,)), ShellPasses((0,), (0,))))
    assert found.shares["bash"].value is None and found.gap is None
