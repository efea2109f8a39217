"""The report's tables: what a row says and how sure it is said to be, and which shell met a limit."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from fluency.analysis.study_analysis import analyse
from fluency.core.records import ControlRun, Execution, Extraction, Result, Run, Stream, Used
from fluency.core.study import Cell
from fluency.core.table import (
    CellRecords,
    _full_row,
    to_frame,
)
from fluency.report.report import write_report
from fluency.report.tables import _mb, summary_table, unexpected_controls
from tests.report.test_report import cells, check_shape
from tests.synthetic_tables import (
    level_but_for,
    make_frame,
    make_rows,
    make_study,
    make_tasks,
    view_of,
)

TASKS, STUDY = make_tasks(), make_study()


def test_a_command_of_the_control_that_came_out_wrong_is_named_with_what_it_did() -> None:
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


def test_a_size_in_mebibytes_has_a_decimal_where_it_is_small() -> None:
    assert (_mb(3 << 20), _mb(300 << 20)) == ("3.0", "300")


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
def test_row_says_whether_its_verdict_is_supported(pairs, judged) -> None:
    _, _, row = rows(*pairs)
    assert row[-1] == judged


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    head, rule, row = rows((2, 3), (3, 2))
    assert len(head) == len(rule) == len(row)
    assert row[:5] == ["model-x", "200/200", "59.0 % (59/100)", "59.0 % (59/100)", "0.0"]
    right = [cell.endswith(":") for cell in rule]
    assert right == [False, *[True] * (len(rule) - 2), False]


FEW = make_tasks(2)
USED = {"peak_memory_bytes": 20 << 20, "cpu_s": 0.02, "peak_processes": 4, "written_bytes": 0}
USED |= {"output_truncated": False}


def used_rows(change) -> list:
    """Rows of two tasks, three trials; `change(row)` gives the fields that differ from a modest use."""
    made = make_rows(make_study(trials=3), FEW, lambda cell: cell.trial > 1)
    return [
        row.model_copy(update=USED | change(row)) if row.status == "measured" else row
        for row in made
    ]


def section(tmp_path: Path, frame: pd.DataFrame) -> dict[str, list[str]]:
    """The cells of the section's table by shell."""
    path = tmp_path / "report.md"
    write_report(path, frame, view_of(make_study(trials=3), FEW))
    text = path.read_text(encoding="utf-8")
    check_shape(text, tmp_path)
    lines = text.split("### What the limits did")[1].split("\n## ")[0].splitlines()
    return {
        name: more
        for name, *more in cells("\n".join(line for line in lines if line.startswith("|")))
    }


def test_what_one_shell_meets_shows_in_its_row(tmp_path: Path) -> None:
    def change(row) -> dict:
        if row.shell == "bash" or row.trial > 1:
            return {}
        if row.task == "task-01":
            return {
                "timed_out": True,
                "failure_class": "timed-out",
                "cpu_s": 29.0,
                "peak_processes": 250,
            }
        return {
            "failure_class": "resource-limit",
            "peak_memory_bytes": 1 << 30,
            "written_bytes": 64 << 20,
        } | {"output_truncated": True}

    table = section(tmp_path, to_frame(used_rows(change)))
    assert table["Bash"] == [
        "6",
        "0",
        "0",
        "0",
        "20, most 20",
        "20 ms, most 20 ms",
        "4, most 4",
        "0.0, most 0.0",
    ]
    assert table["PowerShell 7"] == [
        *("6", "1", "1", "1"),
        *("20, most 1024", "20 ms, most 29.0 s", "4, most 250", "0.0, most 64"),
    ]


def test_a_shell_that_never_ran_and_a_kernel_that_does_not_tell(tmp_path: Path) -> None:
    rows = used_rows(lambda row: {"peak_processes": None, "peak_memory_bytes": None})
    rows = [
        row.model_copy(update={"t_exec_s": None}) if row.shell == "pwsh" else row for row in rows
    ]
    table = section(tmp_path, to_frame(rows))
    assert table["Bash"][4:7] == ["n/a", "20 ms, most 20 ms", "n/a"]
    assert table["PowerShell 7"] == ["0", *["n/a"] * 7]


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


def test_a_cell_has_the_worst_of_its_worlds_and_of_no_other_run() -> None:
    row = gathered(
        run(peak_processes=3, written_bytes=10),
        run(peak_processes=7, written_bytes=5, bytes_out=9),
        run(condition="no_unix_tools", peak_processes=99, written_bytes=99),
        run(reading="lenient", peak_processes=99),
    )
    assert (row.peak_processes, row.written_bytes, row.output_truncated) == (7, 10, True)
    row = gathered(run(peak_processes=3), run(condition="no_unix_tools", bytes_out=9))
    assert (row.peak_processes, row.written_bytes, row.output_truncated) == (3, None, False)
