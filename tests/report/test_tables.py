"""The report's tables: what a row says and how sure it is said to be."""

from types import SimpleNamespace

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.core.records import ControlRun, Execution, Extraction, Result, Run, Stream, Used
from fluency.core.study import Cell
from fluency.core.table import (
    CellRecords,
    _full_row,
)
from fluency.report.tables import summary_table, unexpected_controls
from tests.report.test_report import cells
from tests.synthetic_tables import (
    level_but_for,
    make_frame,
    make_study,
    make_tasks,
)

TASKS, STUDY = make_tasks(), make_study()


def test_unexpected_controls_are_named() -> None:
    kinds = [(kind, passed) for kind in ("reference", "wrong") for passed in (True, False)]
    runs = [
        ControlRun(task="t", shell="bash", kind=k, command="c", passed=p, why="So.")
        for k, p in kinds
    ]
    found = unexpected_controls(SimpleNamespace(runs=runs))
    assert [
        "the reference command `c` failed" in found[0],
        "the wrong command `c` passed" in found[1],
    ] == [True, True]
    assert len(found) == 2


def rows(*pairs: tuple[int, int]) -> list[list[str]]:
    """The table of a study whose first tasks passed so often in Bash and in PowerShell; the others 3 of 5 in both."""
    return cells(
        summary_table(analyse(make_frame(STUDY, TASKS, level_but_for(TASKS, *pairs)), STUDY, TASKS))
    )


@pytest.mark.parametrize(
    ("pairs", "judged"),
    [
        ([(0, 4)] * 15 + [(1, 4)] * 5, "mild evidence for PowerShell, supported"),
        ([(4, 0)] * 15 + [(4, 1)] * 5, "mild evidence for Bash, supported"),
        ([(0, 5), (0, 5), (0, 3)], "mild evidence for PowerShell, not supported"),
        ([(5, 5), (0, 0)] * 8 + [(4, 5), (5, 4)] * 2, "change nothing, supported"),
        ([(0, 5), (5, 0)], "change nothing, not supported"),
        ([(5, 5)] * 20, "too easy to tell"),
    ],
)
def test_summary_table_says_whether_supported(pairs, judged) -> None:
    _, _, row = rows(*pairs)
    assert row[-1] == judged


def test_summary_table_alignment() -> None:
    head, rule, row = rows((2, 3), (3, 2))
    assert len(head) == len(rule) == len(row)
    assert row[:5] == ["model-x", "200/200", "59.0 % (59/100)", "59.0 % (59/100)", "0.0"]
    right = [cell.endswith(":") for cell in rule]
    assert right == [False, *[True] * (len(rule) - 2), False]


def run(condition: str = "as_designed", reading: str = "strict", bytes_out: int = 1, **used) -> Run:
    stream = Stream(data="x", bytes=bytes_out, truncated=bytes_out > 1)
    result = Result(
        exit_code=0, stdout=Stream(data="", bytes=0), stderr=stream, wall_s=0.5, used=Used(**used)
    )
    return Run(seed=11, world_sha256="0" * 64, condition=condition, reading=reading, result=result)


def gathered(*runs: Run):
    extraction = Extraction(strict="echo", lenient="echo")
    execution = Execution.model_construct(runs=list(runs), extraction=extraction)
    return _full_row(
        Cell("m", "bash", "t", 1), "file-inspection", CellRecords(None, execution, None)
    )


def test_row_has_the_worst_of_its_worlds() -> None:
    row = gathered(
        run(peak_processes=3, written_bytes=10),
        run(peak_processes=7, written_bytes=5, bytes_out=9),
        run(condition="no_unix_tools", peak_processes=99, written_bytes=99),
        run(reading="lenient", peak_processes=99),
    )
    assert (row.peak_processes, row.written_bytes, row.output_truncated) == (7, 10, True)
    row = gathered(run(peak_processes=3), run(condition="no_unix_tools", bytes_out=9))
    assert (row.peak_processes, row.written_bytes, row.output_truncated) == (3, None, False)
