"""The small facts of a cell as pairs of label and value; what is not known is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fluency.core.records import Generation, Result, Score, changed_paths
from fluency.core.shells import EXTRA_CONDITIONS


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
    tokens = [
        f"{count} {kind}"
        for count, kind in (
            (usage.input_tokens, "in"),
            (usage.output_tokens, "out"),
            (usage.thinking_tokens, "of them thinking"),
        )
        if count is not None
    ]
    echoed = answer.model_echoed
    asked = answer.request.model_id
    temperature = answer.request.temperature
    return _pairs(
        {
            "Outcome": answer.outcome + (f" ({answer.stop_reason})" if answer.stop_reason else ""),
            "Model": asked if echoed in (None, asked) else f"{asked}, answered as {echoed}",
            "Temperature": "provider's default" if temperature is None else temperature,
            "Tokens": ", ".join(tokens),
            "Cost": None if generation.cost_usd is None else f"${generation.cost_usd:.6f}".rstrip("0").rstrip("."),
            "Time to answer": _seconds(answer.latency_s) or ("not known: batch" * (answer.transport == "batch")),
            "Attempts": answer.attempts if answer.attempts != 1 else None,
            "Asked of": answer.server,
            "Received": answer.received_utc,
        }
    )


def score_facts(score: Score | None) -> list[list[str]]:
    """What the answer is made of, and whether it would pass by other definitions."""
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
                f"Passed {condition.title}": yes[getattr(score, condition.score_field)]
                for condition in EXTRA_CONDITIONS
            },
            "Side effects": ", ".join(score.side_effects),
        }
    )


def run_facts(result: Result) -> list[list[str]]:
    """How a command ended in one world, what it used, and what it left behind."""
    used = result.used
    ended = f"signal {result.signal}" if result.exit_code is None and result.signal else f"exit {result.exit_code}"
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
            "Requests": ", ".join(f"{r.method} {r.path} {r.status}" for r in result.http_requests[:20]),
            "Left running": ", ".join(result.leftover),
            "Working folder changed": _folder_changes(result),
            "Helper processes harmed": None if result.helpers_intact else "yes",
        }
    )


def _folder_changes(result: Result) -> str | None:
    changes = result.changes
    if changes is None:
        return "yes" if result.tree_changed else None
    told = [
        f"{found.count} {kind}: {', '.join(found.paths[:20])}{', …' * (found.count > len(found.paths[:20]))}"
        for kind, found in changed_paths(result)
    ]
    size = f"{bytes_text(changes.bytes)} written" if changes.created.count or changes.changed.count else ""
    least = "" if changes.complete else "not all of it was looked at"
    return "; ".join(filter(None, [*told, size, least]))


def _pairs(values: Mapping[str, Any]) -> list[list[str]]:
    return [[label, str(value)] for label, value in values.items() if value is not None and value != ""]


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f} s"
