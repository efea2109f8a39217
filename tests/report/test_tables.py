"""The row that the cells table holds of an execution in several worlds."""

from fluency.core.records import Execution, Extraction, Result, Run, Stream, Used
from fluency.core.study import Cell
from fluency.core.table import CellRecords, cell_row
from fluency.core.tasks import Task


def run(condition: str = "as_designed", reading: str = "strict", bytes_out: int = 1, **used) -> Run:
    stream = Stream(data="x", bytes=bytes_out, truncated=bytes_out > 1)
    result = Result(
        exit_code=0, stdout=Stream(data="", bytes=0), stderr=stream, wall_s=0.5, used=Used(**used)
    )
    return Run(seed=11, world_sha256="0" * 64, condition=condition, reading=reading, result=result)


def gathered(*runs: Run):
    extraction = Extraction(strict="echo", lenient="echo")
    execution = Execution.model_construct(runs=list(runs), extraction=extraction)
    task = Task.model_construct(category="file-inspection")
    return cell_row(Cell("m", "bash", "t", 1), task, CellRecords(None, execution, None))


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
