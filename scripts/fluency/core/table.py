"""The cells table: one row per cell, made from its records."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from pydantic import Field, create_model

from fluency.common.clock import parse_time, utc_text
from fluency.common.errors import REBUILD_HINT, UserError
from fluency.common.files import JsonObject, write_atomic
from fluency.common.words import escape_controls
from fluency.core.records import (
    CONTROL_FILE,
    Execution,
    Generation,
    Result,
    Run,
    Score,
    WorldScore,
    side_effects,
)
from fluency.core.schema import FrozenModel, read_record
from fluency.core.shells import AS_DESIGNED, CONDITIONS, EXTRA_CONDITIONS
from fluency.core.study import Cell, Study
from fluency.core.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

OfRun = TypeVar("OfRun", Run, WorldScore)
Status = Literal["measured", "not_measured", "missing"]


Flag = bool | None
Number = int | None
Amount = float | None
Text = str | None
"""Fields of a row; None is unknown."""


class _Passed(FrozenModel):
    """The first columns of a row."""

    model: str
    """Alias of the model in the study."""
    shell: str
    """The shell that was asked for."""
    task: str
    """Id of the task."""
    trial: int
    """Number of the independent answer, from 1."""
    category: str
    """Kind of the task."""
    status: Status
    """missing: not measured yet, or abandoned; not_measured: the image lacks the shell."""
    reason: Text = None
    """Why a cell is missing or not_measured."""
    passed: Flag = None
    """Exit code 0, the right output and state in every world: the headline. Empty: not measured."""
    structural_pass: Flag = None
    """Exit code 0 and the structural check alone, in every world."""
    exit_ok: Flag = None
    """Exit code 0 in every world."""
    content_ok: Flag = None
    """The right output and state in every world, with any exit code."""
    lenient_passed: Flag = None
    """As `passed`, with the command also taken out of prose and fences."""


_COLUMNS: JsonObject = {
    each.column: (Flag, Field(None, description=f"As `passed`, {each.title}; empty: not run so."))
    for each in EXTRA_CONDITIONS
}
_WithConditions = create_model("_WithConditions", __base__=_Passed, **_COLUMNS)


class Row(_WithConditions):
    """A row of `results/<study>/cells.csv`; empty fields are unknown, never zero."""

    quiet: Flag = None
    """Wrong with exit code 0, something printed and nothing on standard error, in every world."""
    unasked_changes: Number = None
    """Paths of the world removed or changed unasked, largest over the worlds. Empty: unknown."""
    worlds_passed: Number = None
    """Worlds in which the headline's run passed (as designed, strict reading)."""
    worlds_run: Number = None
    """Worlds the command ran in for the headline."""
    failure_class: Text = None
    """Why it failed, one of a closed set. Empty: it passed, or is not measured."""
    why: Text = None
    """Why it passed or failed, in a sentence."""
    made_of: Text = None
    """What the answer consists of: cmdlets-only, mixed, unix-only and others."""
    commands: Text = None
    """Names of the commands that it calls, in order of appearance, separated by blanks."""
    outcome: Text = None
    """Of the reply: ok, refusal, truncated, empty or no-call."""
    stop_reason: Text = None
    """Why the server ended the reply, in its own word."""
    command: Text = None
    """The command as it ran, in the strict reading, control characters escaped. Empty: none."""
    input_tokens: Number = None
    """Input tokens, as the server counted them."""
    output_tokens: Number = None
    """Output tokens, as the server counted them."""
    cost_usd: Amount = None
    """Dollars, by the price of the day. Empty: the model has no price."""
    temperature_sent: Text = None
    """A number, or `provider-default`."""
    model_echoed: Text = None
    """The model's name in the reply."""
    t_gen_s: Amount = None
    """Seconds from request to last byte; empty where it is not known."""
    t_exec_s: Amount = None
    """Seconds of the command alone, mean over the headline's worlds."""
    timed_out: Flag = None
    """Whether a run of the headline reached its deadline."""
    peak_memory_bytes: Number = None
    """Memory of the whole container, largest over the headline's worlds."""
    cpu_s: Amount = None
    """Seconds of processor time, mean over the headline's worlds."""
    peak_processes: Number = None
    """Processes at a time, largest over the headline's worlds."""
    written_bytes: Number = None
    """Bytes written in /tmp and HOME, largest over the headline's worlds."""
    output_truncated: Flag = None
    """Whether a stream was longer than what is kept of it."""
    side_effects: Text = None
    """What the command left behind, separated by semicolons; not judged."""
    attempts: Number = None
    """How often its commands were started. Empty: not executed."""
    asked_utc: Text = None
    """When the request that got the answer was sent, UTC; without `t_gen_s`, when it arrived."""
    turn: int = 1
    """Of a study with later turns: 1 is the first answer, which the headline is of."""
    ended: Text = None
    """Why a later turn was not asked; its verdict then repeats the turn before."""


RECORD_TYPES: dict[str, type[FrozenModel]] = {
    "generations": Generation,
    "executions": Execution,
    "scores": Score,
}
PRODUCTS = ("cells.csv", "provenance.json", "report.md", "report.html", "explorer.html")
"""The files of any study's own folder."""


class CellRecords(NamedTuple):
    """The three records of a cell; None until it is made."""

    generation: Generation | None
    execution: Execution | None
    score: Score | None


def fixed_products(study: Study) -> list[str]:
    """The names of the files in a study's own folder, except its figures."""
    return [*PRODUCTS, *[CONTROL_FILE] * study.control]


def cell_record(stage: str, cell: Cell) -> str:
    """The name of a stage's record of a cell, below `results/`."""
    return f"{stage}/{cell.path}.json"


def record_path(results: Path, stage: str, cell: Cell) -> Path:
    """The file of a stage's record of a cell."""
    return results / cell_record(stage, cell)


def image_record(shell: str) -> str:
    """The name of the record of a shell's image, below `results/`."""
    return f"images/{shell}.json"


def image_path(results: Path, shell: str) -> Path:
    """The file of the record of a shell's image."""
    return results / image_record(shell)


def load_records(results: Path, cell: Cell) -> CellRecords:
    """The records of one cell; a damaged one is a UserError, an absent one None."""
    paths = {kind: f"{results}/{cell_record(stage, cell)}" for stage, kind in RECORD_TYPES.items()}
    found: Any = (
        read_record(kind, path) if os.path.exists(path) else None for kind, path in paths.items()
    )
    return CellRecords(*found)


def cell_row(cell: Cell, task: Task, records: CellRecords) -> Row:
    """A cell's row, control characters escaped, so that a terminal does not obey them."""
    generation, execution, score = records
    values: JsonObject = vars(cell) | {"category": task.category}
    if generation:
        values |= _asked(generation)
    if execution:
        values |= _ran(execution)
    if score:
        values |= _scored(score, execution, task)
    else:
        stage = "score" if execution else "execution" if generation else "generation"
        values |= {"status": "missing", "reason": f"no {stage} yet"}
    return Row(
        **{
            name: escape_controls(value) if isinstance(value, str) else value
            for name, value in values.items()
        }
    )


def _scored(score: Score, execution: Execution | None, task: Task) -> JsonObject:
    why = score.not_measured or (execution and execution.unmeasured)
    headline, runs = headline_runs(score.worlds), headline_runs(execution.runs if execution else [])
    quiet = (
        _is_quietly_wrong(run.result, world, prints=task.content is not None)
        for run, world in zip(runs, headline, strict=False)
    )
    worlds = {
        "worlds_passed": sum(world.passed for world in headline),
        "worlds_run": len(headline),
        "quiet": bool(runs) and all(quiet),
        "unasked_changes": _most_unasked([world.unasked for world in headline]),
    }
    made_of = score.make_up
    under = {CONDITIONS[name].column: passed for name, passed in score.passed_under.items()}
    return {name: value for name, value in vars(score).items() if name in DTYPES} | {
        **under,
        "status": "not_measured" if score.not_measured else "missing" if why else "measured",
        "reason": why,
        **({} if why else worlds),
        "made_of": made_of and made_of.made_of,
        "commands": made_of and " ".join(made_of.commands),
    }


def _most_unasked(counts: list[int | None]) -> int | None:
    """The largest count; what no run changed is unknown unless it is known of all worlds."""
    known = [count for count in counts if count is not None]
    return max(known, default=0) or (0 if len(known) == len(counts) else None)


def _is_quietly_wrong(result: Result, judged: WorldScore, *, prints: bool) -> bool:
    """Whether neither the status nor standard error shows a wrong answer.

    prints: Whether the task asks for output; then something must have been printed.
    """
    showed = bool(result.stdout.raw().strip()) or not prints
    return judged.exit_ok and not judged.passed and showed and not result.stderr.bytes


def _asked(generation: Generation) -> JsonObject:
    answer = generation.answer
    if generation.ended:
        return {"ended": generation.ended, "outcome": answer.outcome}
    sent = parse_time(answer.received_utc) - timedelta(seconds=answer.latency_s or 0)
    return {
        "outcome": answer.outcome,
        "stop_reason": answer.stop_reason,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cost_usd": generation.cost_usd,
        "temperature_sent": answer.request.temperature_text,
        "model_echoed": answer.model_echoed,
        "t_gen_s": answer.latency_s,
        "asked_utc": utc_text(sent, "milliseconds"),
    }


def _ran(execution: Execution) -> JsonObject:
    results = [run.result for run in headline_runs(execution.runs)]
    facts: JsonObject = {"command": execution.extraction.strict, "attempts": execution.attempts}
    if not results:
        return facts

    def used(name: str) -> list[Any]:
        values = (getattr(result.used, name) for result in results)
        return [value for value in values if value is not None]

    for name in ("peak_memory_bytes", "peak_processes", "written_bytes"):
        facts[name] = max(used(name), default=None)
    processor = used("cpu_s")
    return facts | {
        "t_exec_s": round(fmean(result.wall_s for result in results), 6),
        "timed_out": any(result.timed_out for result in results),
        "side_effects": "; ".join(side_effects_of(execution)) or None,
        "cpu_s": round(fmean(processor), 6) if processor else None,
        "output_truncated": any(
            result.stdout.truncated or result.stderr.truncated for result in results
        ),
    }


def headline_runs(runs: list[OfRun]) -> list[OfRun]:
    """The runs or scores of the headline: as designed, in the strict reading, one per world."""
    return [run for run in runs if (run.condition, run.reading) == (AS_DESIGNED.name, "strict")]


def side_effects_of(execution: Execution) -> list[str]:
    """What the headline's runs did besides printing, as clauses."""
    runs = headline_runs(execution.runs)
    return list(dict.fromkeys(effect for run in runs for effect in side_effects(run.result)))


_KINDS: dict[Any, str] = {Flag: "boolean", int: "Int64", Number: "Int64", Amount: "Float64"}
DTYPES = {name: _KINDS.get(field.annotation, "string") for name, field in Row.model_fields.items()}
"""Column -> its pandas type; all are nullable."""
COLUMNS = list(DTYPES)
OF_TURNS = ["turn", "ended"]
"""Columns that only a study with later turns writes."""


def to_frame(rows: list[Row]) -> pd.DataFrame:
    """Rows as a table with every column and its type, also without rows."""
    import pandas as pd

    return pd.DataFrame([vars(row) for row in rows], columns=COLUMNS).astype(DTYPES)


def columns_of(study: Study) -> list[str]:
    """The columns of a study's table."""
    return [name for name in COLUMNS if study.turns > 1 or name not in OF_TURNS]


def write_table(path: Path, rows: list[Row]) -> pd.DataFrame:
    """Write the table as CSV, byte for byte the same for the same rows, and return it whole."""
    frame = to_frame(rows)
    written = frame if frame["turn"].gt(1).any() else frame.drop(columns=OF_TURNS)
    write_atomic(path, written.to_csv(index=False, lineterminator="\n"))
    return frame


def read_table(path: Path) -> pd.DataFrame:
    """The table with its types; UserError if the file is not one."""
    import pandas as pd

    try:
        with path.open("rb") as file:  # by its path an archive would be unpacked
            frame = pd.read_csv(file, dtype=DTYPES, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or "this is not a table of cells"
        hint = "run the study; an archive's table: `make export FORMAT=csv ARCHIVE=…`"
        raise UserError(what, where=path, hint=hint) from None
    if list(frame.columns) == COLUMNS[: -len(OF_TURNS)]:
        frame = frame.assign(turn=1, ended=None).astype(DTYPES)
    if list(frame.columns) != COLUMNS:
        raise UserError("the cells table has other columns", where=path, hint=REBUILD_HINT)
    return frame
