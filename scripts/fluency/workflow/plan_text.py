"""The plan as people read it on a terminal."""

from __future__ import annotations

import math

from fluency.common.words import plural
from fluency.generation.estimate import CostEstimate, ModelEstimate


def render(estimate: CostEstimate) -> str:
    """The plan as text for a terminal."""
    lines = [f"Study {estimate.study}: {plural(estimate.tasks, 'task')}, {plural(estimate.calls, 'call')} to make."]
    if not estimate.calls:
        lines.append("Every answer is at hand: no model and no key is needed.")
    for model in estimate.models:
        lines += ["", *_render_model(model)]
    if estimate.most_usd or estimate.spent_usd:
        total = f"Together about ${estimate.expected_usd:.2f}, at most ${estimate.most_usd:.2f}"
        lines += ["", f"{total}; ${estimate.spent_usd:.2f} spent on it so far; a run stops at ${estimate.stop_usd:g}."]
        asked = "is asked first" if estimate.most_usd > estimate.confirm_usd else "does not ask"
        lines.append(f"Above ${estimate.confirm_usd:g} a run asks before it pays; this one {asked}.")
    for stage, reasons in estimate.reasons.items():
        lines += ["", f"{stage}: {sum(reasons.values())} to run"]
        lines += [f"  {count:5d}  {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1])]
    if estimate.missing:
        lines += ["", "Missing:", *(f"  {sentence}" for sentence in estimate.missing)]
    return "\n".join(lines) + "\n"


def _render_model(model: ModelEstimate) -> list[str]:
    lines = [
        f"{model.alias} ({model.model_id}): {model.sampling}",
        f"  {plural(model.cells, 'cell')}, {model.at_hand} answered, {model.calls} to ask",
        f"  price    {model.price}",
    ]
    if model.calls:
        tokens = f"about {model.input_tokens} tokens in"
        if model.most_usd is None or not model.priced:
            lines.append(f"  cost     unknown ({tokens})")
        elif model.most_usd:
            lines.append(f"  cost     about ${model.expected_usd:.2f}, at most ${model.most_usd:.2f} ({tokens})")
        else:
            lines.append("  cost     nothing")
        when = "a batch: most within an hour, 24 h at most" if model.minutes is None else _duration(model.minutes)
        lines.append(f"  time     {when}")
    if model.note:
        lines.append(f"  note     {model.note}")
    return lines


def _duration(minutes: float) -> str:
    return "under a minute" if minutes < 1 else f"about {math.ceil(minutes)} min"
