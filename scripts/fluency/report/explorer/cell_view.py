"""What a reader is shown of a cell, made once for the page and for the terminal.

A view is JSON-ready: texts, pairs of label and value, runs. It holds no markup and nothing is escaped
yet: whoever draws it must treat every text as hostile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fluency.core.held_out import HeldOutTask
from fluency.core.records import Execution, Run, Score, Stream, WorldScore
from fluency.core.shells import CONDITIONS, SHELLS
from fluency.core.study import Cell
from fluency.core.table import CellRecords
from fluency.core.tasks import Task
from fluency.report.explorer.cell_facts import generation_facts, run_facts, score_facts
from fluency.report.explorer.difference import Difference, difference
from fluency.report.sentences import attempt

LONGEST = 20_000  # characters of one text at most, in the widest view
READING_TITLES = {"strict": "strict reading", "lenient": "lenient reading"}


class ViewSize(NamedTuple):
    """How much of a cell is shown: characters of a text, rows of a difference."""

    characters: int
    rows: int


WIDEST = ViewSize(LONGEST, 300)


def cell_view(
    cell: Cell, records: CellRecords, task: Task | HeldOutTask | None, size: ViewSize = WIDEST
) -> dict[str, Any]:
    """Everything shown of one cell: prompt, reply, command, facts, runs, provenance.

    Keys: `why` (one sentence), `prompt`, `reply`, `command`, `lenient` (excerpts or None), `notes`, `facts` (pairs),
    `runs`, `provenance` (nested), `files` (the records' names under results/).
    """
    if isinstance(task, HeldOutTask):
        return _held_out(task)
    generation, execution, score = records.generation, records.execution, records.score
    extraction = execution.extraction if execution else None
    lenient = extraction.lenient if extraction and extraction.lenient != extraction.strict else None
    return {
        "why": score.why if score else _waiting(records),
        "prompt": excerpt(generation.answer.request.prompt, LONGEST) if generation else None,
        "reply": excerpt(generation.answer.text, size.characters) if generation else None,
        "command": excerpt(extraction.strict if extraction else None, size.characters),
        "lenient": excerpt(lenient, size.characters),
        "notes": _notes(execution),
        "facts": [*generation_facts(generation), *score_facts(score)],
        "runs": _runs(execution, score, task, size),
        "provenance": _provenance(records),
        "files": [
            f"{folder}/{cell.path}.json"
            for folder, record in (("generations", generation), ("executions", execution), ("scores", score))
            if record is not None
        ],
    }


def _held_out(task: HeldOutTask) -> dict[str, Any]:
    """The view of a private task's cell, whatever its records hold."""
    hashes = {"Task": task.sha256, "Prompt": task.prompt_sha256, "Check": task.check_sha256}
    return {
        "why": "a private task: prompt, reply, command and outputs are held out; its hashes stand for it",
        **dict.fromkeys(("prompt", "reply", "command", "lenient")),
        "notes": [],
        "facts": [[label, f"SHA-256 {digest}"] for label, digest in hashes.items()],
        "runs": [],
        "provenance": {},
        "files": [],
    }


def excerpt(text: str | None, most: int, total: int | None = None) -> dict[str, Any] | None:
    """A text as it is shown: `head`, the number of characters `left_out`, `tail`, and its full size in `bytes`."""
    if text is None:
        return None
    size = len(text.encode(errors="replace")) if total is None else total
    if len(text) <= most:
        return {"head": text, "left_out": 0, "tail": "", "bytes": size}
    tail = most // 4  # an error's last lines say more than its middle
    return {
        "head": text[: most - tail],
        "left_out": len(text) - most,
        "tail": text[len(text) - tail :],
        "bytes": size,
    }


def cell_title(cell: Cell) -> str:
    """The cell in words."""
    return f"{cell.model}, {SHELLS[cell.shell].title}, {cell.task}, trial {cell.trial}"


def stream_text(stream: Stream) -> str:
    """The kept part of a stream as text; bytes that are not UTF-8 show as \\xNN."""
    return stream.raw().decode("utf-8", "backslashreplace")


def _waiting(records: CellRecords) -> str:
    stage = "judged" if records.execution else "run" if records.generation else "asked"
    return f"not {stage} yet"


def _notes(execution: Execution | None) -> list[str]:
    if execution is None:
        return []
    fence = ["the reply was one fenced block; the fence was taken off"] if execution.extraction.fenced else []
    missing = [f"this arm is not measured: {execution.not_measured}"] if execution.not_measured else []
    if repeated := attempt(execution.attempts, not execution.unmeasured):
        why = execution.unmeasured or "the engine or somebody outside ended the others"
        missing.append(f"{repeated}: {why}")
    return [*missing, *fence, *execution.extraction.notes]


def _runs(execution: Execution | None, score: Score | None, task: Task | None, size: ViewSize) -> list[dict[str, Any]]:
    judged = {(w.seed, w.condition, w.reading): w for w in score.worlds} if score else {}
    runs = execution.runs if execution else []
    return [_run(run, judged.get((run.seed, run.condition, run.reading)), task, size) for run in runs]


def _run(run: Run, judged: WorldScore | None, task: Task | None, size: ViewSize) -> dict[str, Any]:
    result = run.result
    return {
        "title": f"World {run.seed}, {CONDITIONS[run.condition].title}, {READING_TITLES[run.reading]}",
        "passed": judged.passed if judged else None,
        "why": judged.why if judged else "not judged",
        "facts": run_facts(result),
        "diff": _difference(judged, result.stdout.raw(), task, size),
        "stdout": excerpt(stream_text(result.stdout), size.characters, result.stdout.bytes),
        "stderr": excerpt(stream_text(result.stderr), size.characters, result.stderr.bytes),
    }


def _difference(judged: WorldScore | None, stdout: bytes, task: Task | None, size: ViewSize) -> dict[str, Any] | None:
    if judged is None or judged.expected is None:
        return None
    # A record can outlive its task: lines are then compared as paths, which other lines are not hurt by.
    lines = isinstance(judged.expected, list | str)
    content = task.content if task else ("paths" if lines else "json")
    full: Difference = difference(judged.expected, stdout, content)
    shown = full.shortened(size.rows)
    # A row of a hostile output can be a megabyte long; a reader compares lines of some hundred characters.
    longest = max(200, size.characters // 20)
    return {
        "rows": [[row.op, row.text if len(row.text) <= longest else row.text[:longest] + "…"] for row in shown.rows],
        "same": full.same,
        "missing": full.missing,
        "extra": full.extra,
    }


def _provenance(records: CellRecords) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if records.generation:
        whole = records.generation.model_dump(mode="json")
        answer = {key: value for key, value in whole.pop("answer").items() if key not in ("text", "raw", "usage")}
        answer["request"] = {key: value for key, value in answer["request"].items() if key != "prompt"}
        parts["generation"] = {**answer, **{key: whole[key] for key in ("price", "task_sha256", "provenance")}}
    if records.execution:
        kept = ("schema_version", "request_key", "image", "limits", "timeout_s", "engine", "provenance")
        whole = records.execution.model_dump(mode="json", include=set(kept))
        parts["execution"] = whole | {"worlds": {str(run.seed): run.world_sha256 for run in records.execution.runs}}
    if records.score:
        parts["score"] = records.score.model_dump(
            mode="json", include={"schema_version", "request_key", "task_sha256", "provenance"}
        )
    return parts
