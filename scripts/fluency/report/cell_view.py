"""What a reader is shown of a cell: JSON-ready, not escaped; every text may be hostile."""

from collections.abc import Mapping
from typing import Any

from rich import filesize

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
from fluency.core.shells import CONDITIONS, EXTRA_CONDITIONS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, CellRecords, side_effects_of
from fluency.core.tasks import Task
from fluency.generation.conversation import message
from fluency.report.difference import difference
from fluency.report.facts import shown
from fluency.report.words import attempt_note

WIDE, NARROW = 20_000, 400
"""Sizes of a view: characters of one text at most."""
MOST_FILES = 8
"""Files of a run whose content is shown, of those that the command wrote."""
SHOWN_ABOVE: dict[str, Any] = {
    "cell": True,
    "answer": {"text": True, "raw": True, "usage": True, "request": {"prompt"}},
    "extraction": True,
    "runs": True,
    "worlds": True,
    "why": True,
    "make_up": True,
    # The same for all cells of a run: the report's provenance has them.
    "image": True,
    "limits": True,
    "engine": True,
    "provenance": {"code_sha256"},
}
"""What of the records the provenance leaves out."""


def cell_view(
    cell: Cell, records: CellRecords, task: Task | None, size: int = WIDE
) -> dict[str, Any]:
    """Everything shown of one cell: prompt, reply, command, facts, runs, provenance.

    Keys: `why` (one sentence), `prompt`, `reply`, `command`, `lenient` (excerpts or None), `notes`,
    `facts` (pairs), `runs`, `provenance` (by stage).
    """
    generation, execution, score = records
    extraction = execution.extraction if execution else None
    lenient = extraction.lenient if extraction and extraction.lenient != extraction.strict else None
    waiting = "judged" if execution else "run" if generation else "asked"
    judged = {(w.seed, w.condition, w.reading): w for w in score.worlds} if score else {}
    provenance = {
        stage: record.model_dump(mode="json", exclude=SHOWN_ABOVE)
        for stage, record in zip(RECORD_TYPES, records, strict=True)
        if record
    }
    shown = excerpt(_shown_to(generation), size)
    return {
        **({"shown": shown} if shown else {}),
        "why": score.why if score else f"not {waiting} yet",
        "prompt": excerpt(generation.answer.request.prompt, WIDE) if generation else None,
        "reply": excerpt(generation.answer.text, size) if generation else None,
        "command": excerpt(extraction.strict if extraction else None, size),
        "lenient": excerpt(lenient, size),
        "notes": _notes(execution) if execution else [],
        "facts": _pairs(_answer_facts(generation) | _score_facts(score, execution)),
        "runs": [
            _run(run, judged.get((run.seed, run.condition, run.reading)), task, size)
            for run in (execution.runs if execution else [])
        ],
        "provenance": provenance,
    }


def turn_view(cell: Cell, records: CellRecords, size: int = WIDE) -> dict[str, Any]:
    """What is shown of a later turn: what the model was shown, its command, and the verdict."""
    generation, execution, score = records
    verdict = {True: "passed", False: "failed", None: "not measured"}[
        score.passed if score else None
    ]
    title = f"Turn {cell.turn}: {verdict}"
    if generation and generation.ended:
        return {"title": f"{title}, not asked again: {generation.ended}"}
    command = execution.extraction.strict if execution else None
    return {
        "title": title,
        "shown": excerpt(_shown_to(generation), size),
        "command": excerpt(command, size),
        "why": score.why if score else None,
    }


def _shown_to(generation: Generation | None) -> str | None:
    """What a later turn's model was shown of the command before."""
    if generation and (earlier := generation.answer.request.earlier) and earlier.shown:
        return message(earlier.shown, generation.cell.shell)
    return None


def excerpt(text: str | None, most: int, total: int | None = None) -> dict[str, Any] | None:
    """A text as it is shown: `head`, characters `left_out`, `tail`, and its size in `bytes`."""
    if text is None:
        return None
    size = len(text.encode(errors="replace")) if total is None else total
    left_out = max(0, len(text) - most)
    # An error's last lines say more than its middle.
    tail = len(text) - most // 4 if left_out else len(text)
    head = text[: tail - left_out]
    return {"head": head, "left_out": left_out, "tail": text[tail:], "bytes": size}


def _notes(execution: Execution) -> list[str]:
    extraction, notes = execution.extraction, list[str]()
    if execution.repeats:
        notes.append("the same command as the turn before: its runs and verdict stay")
    if execution.not_measured:
        notes.append(f"this shell is not measured: {execution.not_measured}")
    if repeated := attempt_note(execution.attempts, not execution.unmeasured):
        why = execution.unmeasured or "the others were interrupted from outside"
        notes.append(f"{repeated}: {why}")
    if extraction.fenced:
        notes.append("the reply was one fenced block; the fence was removed")
    return [*notes, *extraction.notes]


def _run(run: Run, judged: WorldScore | None, task: Task | None, size: int) -> dict[str, Any]:
    result, diff = run.result, None
    if judged and judged.expected is not None:
        # A record can outlive its task: its lines are then compared as paths, which suits others.
        lines = isinstance(judged.expected, list | str)
        content = (task and task.content) or ("paths" if lines else "json")
        diff = difference(judged.expected, result.stdout.raw(), content, size)
    changed = result.state if isinstance(result.state, list) else []
    kept = [(one.path, one.content) for one in changed if one.content and one.content.data]
    return {
        "title": f"World {run.seed}, {CONDITIONS[run.condition].title}, {run.reading} reading",
        "passed": judged.passed if judged else None,
        "why": judged.why if judged else "not judged",
        "facts": _pairs({"Not as asked": "; ".join(judged.left) if judged else None})
        + run_facts(result),
        "diff": diff,
        "stdout": _excerpt_of(result.stdout, size),
        "stderr": _excerpt_of(result.stderr, size),
        "files": [
            [f"File {path}", _excerpt_of(content, size // 4)] for path, content in kept[:MOST_FILES]
        ],
    }


def _excerpt_of(stream: Stream, size: int) -> dict[str, Any] | None:
    return excerpt(stream.raw().decode("utf-8", "backslashreplace"), size, stream.bytes)


def _answer_facts(generation: Generation | None) -> dict[str, Any]:
    """How the model was asked, what it cost, and how the answer ended."""
    if generation is None:
        return {}
    answer, usage, cost = generation.answer, generation.answer.usage, generation.cost_usd
    counts = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "of them thinking": usage.thinking_tokens,
    }
    request, echoed = answer.request, answer.model_echoed
    is_default = request.temperature is None
    return {
        "Outcome": answer.outcome + (f" ({answer.stop_reason})" if answer.stop_reason else ""),
        "Model": request.model_id
        + (f", answered as {echoed}" if echoed not in (None, request.model_id) else ""),
        "Temperature": "provider's default" if is_default else request.temperature,
        "Tokens": ", ".join(
            f"{count} {kind}" for kind, count in counts.items() if count is not None
        ),
        "Cost": None if cost is None else f"${cost:.6f}".rstrip("0").rstrip("."),
        "Time to answer": _seconds(answer.latency_s),
        "Attempts": answer.attempts if answer.attempts != 1 else None,
        "Asked of": answer.server,
        "Received": answer.received_utc,
    }


def _score_facts(score: Score | None, execution: Execution | None) -> dict[str, Any]:
    """What the answer consists of, and whether it would pass by other definitions."""
    if score is None or execution is None:
        return {}
    made = score.make_up
    return {
        "Made of": made and made.made_of.replace("-", " "),
        "Commands": made and " ".join(made.commands),
        "Exit 0 and structure": score.structural_pass,
        "Exit 0": score.exit_ok,
        "Output right, any exit": score.content_ok,
        "Passed when read leniently": score.lenient_passed,
        **{
            f"Passed {extra.title}": score.passed_under.get(extra.name)
            for extra in EXTRA_CONDITIONS
        },
        "Side effects": ", ".join(side_effects_of(execution)),
    }


def run_facts(result: Result) -> list[list[str]]:
    """How a command ended in one world, what it used, and what it left behind."""
    used, ended = result.used, f"exit {result.exit_code}"
    peak = used.peak_memory_bytes
    if result.exit_code is None:
        signal = f"signal {result.signal}" if result.signal else "no exit code"
        ended = "did not start" if result.spawn_error else signal
    changes = [
        f"{found.count} {kind}: {', '.join(found.paths[:20])}{', …' * (found.count > 20)}"
        for kind, found in changed_paths(result)
    ]
    if isinstance(result.state, str):
        changes.append(f"its state is unknown: {result.state}")
    elif result.changes and not result.changes.complete:  # of an older version
        changes.append("not everything was examined")
    return _pairs(
        {
            "Ended": ended + (", timed out" if result.timed_out else ""),
            "Not started": result.spawn_error,
            "Result lost": result.lost,
            "Time to run": _seconds(result.wall_s),
            "Processor time": _seconds(used.cpu_s),
            "Peak memory": None if peak is None else filesize.decimal(peak),
            "Memory limit hit": used.oom_killed or None,
            "Requests": ", ".join(
                f"{r.method} {r.path} {r.status}" for r in result.http_requests[:20]
            ),
            "Left running": ", ".join(result.leftover),
            "Working folder changed": "; ".join(changes) or result.tree_changed or None,
            "Helper processes harmed": not result.helpers_intact or None,
        }
    )


def _pairs(values: Mapping[str, Any]) -> list[list[str]]:
    """Names and texts of what is known."""
    known = {name: value for name, value in values.items() if value is not None and value != ""}
    return [[name, shown(value)] for name, value in known.items()]


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f} s"
