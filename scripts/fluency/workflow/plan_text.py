"""The plan as people read it on a terminal."""

from __future__ import annotations

import math

from fluency.generation.cost_estimate import ModelPlan, Plan


def render(plan: Plan) -> str:
    """The plan as text for a terminal."""
    lines = [f"Study {plan.study}: {plan.calls} calls to make."]
    for model in plan.models:
        lines += ["", *_render_model(model)]
    if plan.most_usd or plan.spent_usd:
        total = f"Together about ${plan.expected_usd:.2f}, at most ${plan.most_usd:.2f}"
        lines += ["", f"{total}; ${plan.spent_usd:.2f} spent on it so far; a run stops at ${plan.stop_usd:g}."]
        asked = "is asked first" if plan.most_usd > plan.confirm_usd else "does not ask"
        lines.append(f"Above ${plan.confirm_usd:g} a run asks before it pays; this one {asked}.")
    for stage, reasons in plan.reasons.items():
        lines += ["", f"{stage}: {sum(reasons.values())} to run"]
        lines += [f"  {count:5d}  {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1])]
    if plan.missing:
        lines += ["", "Missing:", *(f"  {sentence}" for sentence in plan.missing)]
    return "\n".join(lines) + "\n"


def _render_model(model: ModelPlan) -> list[str]:
    lines = [
        f"{model.alias} ({model.model_id}): {model.sampling}",
        f"  {model.cells} cells, {model.at_hand} answered, {model.calls} to ask",
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
