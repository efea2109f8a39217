"""What a reader is shown of a cell: JSON-ready, not escaped; every text may be hostile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fluency.core.records import (
    Execution,
    Generation,
    Result,
    Run,
    Score,
    Stream,
    WorldScore,
    changed_paths,
)
from fluency.core.shells import CONDITIONS, EXTRA_CONDITIONS, SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, CellRecords
from fluency.core.tasks import Task
from fluency.report.difference import Difference, difference
from fluency.report.sentences import attempt

LONGEST = 20_000  # characters of one text at most, in the widest view
READING_TITLES = {"strict": "strict reading", "lenient": "lenient reading"}


class ViewSize(NamedTuple):
    """How much of a cell is shown: characters of a text, rows of a difference."""

    characters: int
    rows: int


WIDE, NARROW = ViewSize(LONGEST, 300), ViewSize(400, 12)


def cell_view(
    cell: Cell, records: CellRecords, task: Task | None, size: ViewSize = WIDE
) -> dict[str, Any]:
    """Everything shown of one cell: prompt, reply, command, facts, runs, provenance.

    Keys: `why` (one sentence), `prompt`, `reply`, `command`, `lenient` (excerpts or None), `notes`,
    `facts` (pairs), `runs`, `provenance` (nested), `files` (the records' names under results/).
    """
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
            f"{stage}/{cell.path}.json"
            for stage, found in zip(RECORD_TYPES, records, strict=True)
            if found
        ],
    }


def excerpt(text: str | None, most: int, total: int | None = None) -> dict[str, Any] | None:
    """A text as it is shown: `head`, characters `left_out`, `tail`, and its size in `bytes`."""
    if text is None:
        return None
    size = len(text.encode(errors="replace")) if total is None else total
    if len(text) <= most:
        return {"head": text, "left_out": 0, "tail": "", "bytes": size}
    tail = most // 4  # an error's last lines say more than its middle
    return {
        "head": text[: most - tail],
        "left_out": len(text) - most,
        "tail": text[-tail:],
        "bytes": size,
    }


def cell_title(cell: Cell) -> str:
    """The cell in words."""
    return f"{cell.model}, {SHELLS[cell.shell].title}, {cell.task}, trial {cell.trial}"


def _waiting(records: CellRecords) -> str:
    stage = "judged" if records.execution else "run" if records.generation else "asked"
    return f"not {stage} yet"


def _notes(execution: Execution | None) -> list[str]:
    if execution is None:
        return []
    fence = (
        ["the reply was one fenced block; the fence was taken off"]
        if execution.extraction.fenced
        else []
    )
    missing = (
        [f"this shell is not measured: {execution.not_measured}"] if execution.not_measured else []
    )
    if repeated := attempt(execution.attempts, not execution.unmeasured):
        why = execution.unmeasured or "the others were interrupted from outside"
        missing.append(f"{repeated}: {why}")
    return [*missing, *fence, *execution.extraction.notes]


def _runs(
    execution: Execution | None, score: Score | None, task: Task | None, size: ViewSize
) -> list[dict[str, Any]]:
    judged = {(w.seed, w.condition, w.reading): w for w in score.worlds} if score else {}
    runs = execution.runs if execution else []
    return [
        _run(run, judged.get((run.seed, run.condition, run.reading)), task, size) for run in runs
    ]


def _run(run: Run, judged: WorldScore | None, task: Task | None, size: ViewSize) -> dict[str, Any]:
    result = run.result
    return {
        "title": f"World {run.seed}, {CONDITIONS[run.condition].title}, "
        f"{READING_TITLES[run.reading]}",
        "passed": judged.passed if judged else None,
        "why": judged.why if judged else "not judged",
        "facts": run_facts(result),
        "diff": _difference(judged, result.stdout.raw(), task, size),
        "stdout": _stream(result.stdout, size),
        "stderr": _stream(result.stderr, size),
    }


def _stream(stream: Stream, size: ViewSize) -> dict[str, Any] | None:
    return excerpt(stream.raw().decode("utf-8", "backslashreplace"), size.characters, stream.bytes)


def _difference(
    judged: WorldScore | None, stdout: bytes, task: Task | None, size: ViewSize
) -> dict[str, Any] | None:
    if judged is None or judged.expected is None:
        return None
    # A record can outlive its task: lines are then compared as paths, which harms no other lines.
    lines = isinstance(judged.expected, list | str)
    content = task.content if task else ("paths" if lines else "json")
    full: Difference = difference(judged.expected, stdout, content)
    shown = full.shortened(size.rows)
    # A row of a hostile output can be a megabyte long; a reader compares some hundred characters.
    longest = max(200, size.characters // 20)
    return {
        "rows": [
            [row.op, row.text if len(row.text) <= longest else row.text[:longest] + "…"]
            for row in shown.rows
        ],
        "same": full.same,
        "missing": full.missing,
        "extra": full.extra,
    }


KEPT = {"schema_version", "request_key", "task_sha256", "provenance"}
RUN_WITH = {"image", "limits", "timeout_s", "engine"}
SHOWN_ABOVE: dict[str, Any] = {"text": True, "raw": True, "usage": True, "request": {"prompt"}}


def _provenance(records: CellRecords) -> dict[str, Any]:
    generation, execution, score = records
    parts: dict[str, Any] = {}
    if generation:
        answer = generation.answer.model_dump(mode="json", exclude=SHOWN_ABOVE)
        parts["generation"] = answer | generation.model_dump(mode="json", include=KEPT | {"price"})
    if execution:
        worlds = {str(run.seed): run.world_sha256 for run in execution.runs}
        kept = execution.model_dump(mode="json", include=KEPT | RUN_WITH)
        parts["execution"] = kept | {"worlds": worlds}
    if score:
        parts["score"] = score.model_dump(mode="json", include=KEPT)
    return parts


def bytes_text(size: int | None) -> str | None:
    """A number of bytes for people."""
    if size is None:
        return None
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} byte{'s' * (size != 1)}"


def generation_facts(generation: Generation | None) -> list[list[str]]:
    """How the model was asked, what it cost, and how the answer ended."""
    if generation is None:
        return []
    answer, usage = generation.answer, generation.answer.usage
    counts = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "of them thinking": usage.thinking_tokens,
    }
    echoed, asked, temperature = (
        answer.model_echoed,
        answer.request.model_id,
        answer.request.temperature,
    )
    return _pairs(
        {
            "Outcome": answer.outcome + (f" ({answer.stop_reason})" if answer.stop_reason else ""),
            "Model": asked if echoed in (None, asked) else f"{asked}, answered as {echoed}",
            "Temperature": "provider's default" if temperature is None else temperature,
            "Tokens": ", ".join(
                f"{count} {kind}" for kind, count in counts.items() if count is not None
            ),
            "Cost": None
            if generation.cost_usd is None
            else f"${generation.cost_usd:.6f}".rstrip("0").rstrip("."),
            "Time to answer": _seconds(answer.latency_s),
            "Attempts": answer.attempts if answer.attempts != 1 else None,
            "Asked of": answer.server,
            "Received": answer.received_utc,
        }
    )


def score_facts(score: Score | None) -> list[list[str]]:
    """What the answer consists of, and whether it would pass by other definitions."""
    if score is None:
        return []
    made = score.make_up
    yes = {True: "yes", False: "no", None: None}
    return _pairs(
        {
            "Made of": made and made.made_of.replace("-", " "),
            "Commands": made and " ".join(made.commands),
            "Exit 0 and structure": yes[score.structural_pass],
            "Exit 0": yes[score.exit_ok],
            "Output right, any exit": yes[score.content_ok],
            "Passed when read leniently": yes[score.lenient_passed],
            **{
                f"Passed {extra.title}": yes[getattr(score, extra.score_field)]
                for extra in EXTRA_CONDITIONS
            },
            "Side effects": ", ".join(score.side_effects),
        }
    )


def run_facts(result: Result) -> list[list[str]]:
    """How a command ended in one world, what it used, and what it left behind."""
    used = result.used
    ended = (
        f"signal {result.signal}"
        if result.exit_code is None and result.signal
        else f"exit {result.exit_code}"
    )
    if result.exit_code is None and not result.signal:
        ended = "did not start" if result.spawn_error else "no exit code"
    return _pairs(
        {
            "Ended": ended + (", timed out" if result.timed_out else ""),
            "Not started": result.spawn_error,
            "Result lost": result.lost,
            "Time to run": _seconds(result.wall_s),
            "Processor time": _seconds(used.cpu_s),
            "Peak memory": bytes_text(used.peak_memory_bytes),
            "Memory limit hit": "yes" if used.oom_killed else None,
            "Requests": ", ".join(
                f"{r.method} {r.path} {r.status}" for r in result.http_requests[:20]
            ),
            "Left running": ", ".join(result.leftover),
            "Working folder changed": _folder_changes(result),
            "Helper processes harmed": None if result.helpers_intact else "yes",
        }
    )


def _folder_changes(result: Result) -> str | None:
    changes = result.changes
    if changes is None:
        return "yes" if result.tree_changed else None
    parts = [
        f"{found.count} {kind}: {', '.join(found.paths[:20])}"
        + ", …" * (found.count > len(found.paths[:20]))
        for kind, found in changed_paths(result)
    ]
    size = (
        f"{bytes_text(changes.bytes)} written"
        if changes.created.count or changes.changed.count
        else ""
    )
    least = "" if changes.complete else "not all of it was looked at"
    return "; ".join(filter(None, [*parts, size, least]))


def _pairs(values: Mapping[str, Any]) -> list[list[str]]:
    return [
        [label, str(value)] for label, value in values.items() if value is not None and value != ""
    ]


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f} s"
