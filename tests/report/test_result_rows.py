"""The one table that says it all: each cell of a row, and how sure it is said to be."""

from __future__ import annotations

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.report.tables import summary_table
from tests.synthetic_tables import level_but_for, make_frame, make_study, make_tasks

TASKS, STUDY = make_tasks(), make_study()


def rows(*pairs: tuple[int, int]) -> list[list[str]]:
    """The table of a study whose first tasks passed so often in Bash and in PowerShell; the others 3 of 5 in both."""
    table = summary_table(analyse(make_frame(STUDY, TASKS, level_but_for(TASKS, *pairs)), STUDY, TASKS))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


@pytest.mark.parametrize(
    ("pairs", "judged"),
    [
        ([(0, 4)] * 15 + [(1, 4)] * 5, "PowerShell, resolved"),
        ([(4, 0)] * 15 + [(4, 1)] * 5, "Bash, resolved"),
        ([(0, 5), (0, 5), (0, 3)], "PowerShell, not resolved"),
        ([(2, 3), (3, 2)], "noise, resolved"),
        ([(5, 5)] * 20, "cannot tell, both at the ceiling (label: noise)"),
    ],
)
def test_a_row_says_what_was_found_and_whether_it_is_resolved(pairs, judged) -> None:
    _, _, row = rows(*pairs)
    assert row[-1] == judged


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    head, rule, row = rows((2, 3), (3, 2))
    assert len(head) == len(rule) == len(row)
    assert row[:5] == ["model-x", "200/200", "59.0 % (59/100)", "59.0 % (59/100)", "0.0"]
    right = [cell.endswith(":") for cell in rule]
    assert right == [False, *[True] * (len(rule) - 2), False]
