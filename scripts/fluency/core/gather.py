"""The fourth stage: every cell's records become one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fluency.common.errors import UserError
from fluency.core.cells import Cell
from fluency.core.conditions import AS_DESIGNED, BESIDE
from fluency.core.held_out import HeldOutTask, held_out_row
from fluency.core.part import Part
from fluency.core.records import WAITING, Execution, Generation, RecordType, Row, Run, Score, read_record
from fluency.core.tasks import Task

STAGES: dict[str, type[Part]] = {"generations": Generation, "executions": Execution, "scores": Score}
PRODUCTS = ("cells.csv", "provenance.json", "report.md", "explorer.html")
"""What is made of the records, in the study's own folder."""


class CellRecords(NamedTuple):
    """The three records of a cell; None where there is none yet."""

    generation: Generation | None
    execution: Execution | None
    score: Score | None


def record_path(results: Path, stage: str, cell: Cell) -> Path:
    """Where a stage's record of a cell stands."""
    return Path(results) / stage / f"{cell.path}.json"


def load_records(results: Path, cell: Cell) -> CellRecords:
    """The records of one cell; a damaged one is a UserError, an absent one None."""

    def load(stage: str, kind: type[RecordType]) -> RecordType | None:
        path = record_path(results, stage, cell)
        return read_record(kind, path) if path.exists() else None

    return CellRecords(load("generations", Generation), load("executions", Execution), load("scores", Score))


def gather_rows(cells: Sequence[Cell], tasks: Sequence[Task], load: Callable[[Cell], CellRecords]) -> list[Row]:
    """One row for each cell of the design, whatever there is of it; less its texts where the task is held out."""
    by_id = {task.id: task for task in tasks}
    return [task_row(cell, by_id[cell.task], load(cell)) for cell in cells]


def task_row(cell: Cell, task: Task, records: CellRecords) -> Row:
    """A cell's row as it may be shown."""
    row = row_of(cell, task.category, records)
    return held_out_row(row) if isinstance(task, HeldOutTask) else row


def row_of(cell: Cell, category: str, records: CellRecords) -> Row:
    """A cell's row. A cell without a score is missing, and the row says which stage it waits for."""
    generation, execution, score = records
    values: dict[str, object] = dict(cell._asdict(), category=category)
    if generation:
        values |= _asked(generation)
    if execution:
        values |= _ran(execution)
    if score is None:
        stage = "score" if execution else "execution" if generation else "generation"
        return Row(**values, status="missing", reason=WAITING[stage])
    if generation is None or execution is None:
        raise UserError(
            "the score has no generation or execution under it",
            where=cell.path,
            hint="run the study again; it makes only what is missing",
        )
    status = "not_measured" if score.not_measured else "missing" if execution.unmeasured else "measured"
    headline = [w for w in score.worlds if w.condition == AS_DESIGNED.name and w.reading == "strict"]
    return Row(
        **values,
        status=status,
        reason=score.not_measured or execution.unmeasured,
        passed=score.passed,
        structural_pass=score.structural_pass,
        exit_ok=score.exit_ok,
        content_ok=score.content_ok,
        lenient_passed=score.lenient_passed,
        **{condition.mark: getattr(score, condition.mark) for condition in BESIDE},
        worlds_passed=sum(world.passed for world in headline) if status == "measured" else None,
        worlds_run=len(headline) if status == "measured" else None,
        failure_class=score.failure_class,
        why=score.why,
        made_of=score.make_up.made_of if score.make_up else None,
        commands=" ".join(score.make_up.commands) if score.make_up else None,
        side_effects="; ".join(score.side_effects) or None,
    )


def _asked(generation: Generation) -> dict[str, object]:
    answer = generation.answer
    sent = answer.request.temperature
    return {
        "outcome": answer.outcome,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cost_usd": generation.cost_usd,
        "temperature_sent": "provider-default" if sent is None else f"{sent:g}",
        "model_echoed": answer.model_echoed,
        "t_gen_s": answer.latency_s,
        "asked_utc": answer.received_utc,
    }


def _ran(execution: Execution) -> dict[str, object]:
    results = [run.result for run in headline_runs(execution)]
    if not results:
        return {"command": execution.extraction.strict, "attempts": execution.attempts}

    def largest(name: str) -> int | None:
        told = [getattr(result.used, name) for result in results]
        return max((value for value in told if value is not None), default=None)

    processor = [result.used.cpu_s for result in results if result.used.cpu_s is not None]
    return {
        "command": execution.extraction.strict,
        "attempts": execution.attempts,
        "t_exec_s": round(fmean(result.wall_s for result in results), 6),
        "timed_out": any(result.timed_out for result in results),
        "peak_memory_bytes": largest("peak_memory_bytes"),
        "cpu_s": round(fmean(processor), 6) if processor else None,
        "peak_processes": largest("peak_processes"),
        "written_bytes": largest("written_bytes"),
        "output_truncated": any(result.stdout.truncated or result.stderr.truncated for result in results),
    }


def headline_runs(execution: Execution) -> list[Run]:
    """The runs that decide: the strict reading, as designed, one a world."""
    return [run for run in execution.runs if run.condition == AS_DESIGNED.name and run.reading == "strict"]
