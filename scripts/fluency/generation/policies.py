"""The sampling policy of a model: the table in policies.yaml, overridden by the config."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig, Price, Wire

Temperature = float | Literal["provider-default"]
TABLE = Path(__file__).with_name("policies.yaml")
DEFAULT_OUTPUT_TOKENS = 60
RESERVED_BODY = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "thinking", "output_config",
    "reasoning_effort", "stream", "seed", "system", "tools", "tool_choice", "n",
})  # fmt: skip
UNKNOWN = {
    "temperature": "0.7  # or provider-default",
    "max_tokens": "8192  # room for a model that always thinks; others need 1024",
    "price": '{input_usd_per_mtok: 5, output_usd_per_mtok: 25, dated: "2026-09-30"}  # its own',
}
"""What a user can paste for a model that the table does not know; the price is that of Opus."""
KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "proxy-authorization", "cookie"})
KEY_PLACEHOLDER = "$KEY"


@dataclass(frozen=True)
class Policy:
    """How one model is asked. `temperature_sent` is None when none is sent.

    effort_default: what the service uses where none is sent, as far as the table knows.
    place_factor: on the price, of the part of the world that the entry asks for.
    """

    model_id: str
    temperature_requested: Temperature
    temperature_sent: float | None
    max_tokens: int
    thinking: dict[str, Any] | None = None
    effort: str | None = None
    effort_default: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    extra_body: dict[str, Any] = field(default_factory=dict)
    price: Price | None = None
    place_factor: float = 1.0
    expected_output_tokens: float = DEFAULT_OUTPUT_TOKENS
    seeded: bool = False
    note: str = ""
    source: str = "config"

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Dollars for so many tokens; null where no price is known."""
        if (price := self.price) is None:
            return None
        dollars = (
            input_tokens * price.input_usd_per_mtok + output_tokens * price.output_usd_per_mtok
        )
        return dollars * self.place_factor / 1_000_000

    def describe(self) -> str:
        """Temperature, thinking, effort and limit in words."""
        sampling = (
            "provider default"
            if self.temperature_sent is None
            else f"temperature {self.temperature_sent:g}"
        )
        thinking = (
            f", thinking {self.thinking['type']}"
            if self.thinking and "type" in self.thinking
            else ""
        )
        known = f", {self.effort_default}" if self.effort_default else ""
        effort = (
            f", effort {self.effort}"
            if self.effort
            else f", effort not sent (the service's default{known})"
        )
        if not self.effort and self.effort_default == "unsupported":
            effort = ", takes no effort"
        effort = "" if self.seeded else effort  # llama.cpp has none
        return f"{sampling}{thinking}{effort}, up to {self.max_tokens} tokens"


@cache
def table() -> dict[str, Any]:
    """The content of policies.yaml."""
    entries: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return entries


def resolve(model: ModelConfig) -> Policy:
    """The policy of a config entry.

    UserError if neither table nor config gives what is needed, or if a header or body field of the config holds a
    key or would make the record untrue.
    """
    where = f"models: {model.alias}"
    entry, source = _entry(model)
    _check_extras(model, where)
    temperature, max_tokens, price = _overlaid(model, entry, where)
    thinking = model.thinking
    if thinking is None and model.wire != "chat":  # which has no such field
        thinking = entry.get("thinking")
    mode = (thinking or {}).get("type")
    _check_wire(
        model, thinking, where, entry.get("always_thinks") or mode in ("adaptive", "enabled")
    )
    sent = None if temperature == "provider-default" else float(temperature)
    if sent not in (None, 1.0) and mode in ("adaptive", "enabled"):
        what = f"temperature {sent:g} cannot go with thinking {mode}: the service takes only 1"
        raise UserError(
            what, where=where, hint="leave `thinking` out, or set `temperature: provider-default`"
        )
    return Policy(
        model_id=model.id,
        temperature_requested="provider-default" if sent is None else sent,
        temperature_sent=sent,
        max_tokens=max_tokens,
        thinking=thinking,
        effort=model.effort or entry.get("effort"),
        effort_default=entry.get("effort_default"),
        headers=version_headers(model.wire, sent)
        | {k.lower(): v for k, v in model.extra_headers.items()},
        extra_body=dict(model.extra_body),
        price=price,
        place_factor=table()["geo_price_factors"].get(model.extra_body.get("inference_geo"), 1),
        expected_output_tokens=entry.get("expected_output_tokens", DEFAULT_OUTPUT_TOKENS),
        seeded=model.served_by == "embedded",
        note=entry.get("note", ""),
        source=source,
    )


def _entry(model: ModelConfig) -> tuple[dict[str, Any], str]:
    known = table()
    if model.served_by == "embedded":
        return known["embedded"], f"policies.yaml of {known['read']}, embedded"
    if model.id in known["models"]:
        return known["models"][model.id], f"policies.yaml of {known['read']}"
    return {}, "config"


def version_headers(wire: Wire, temperature: float | None) -> dict[str, str]:
    """The header that pins the version of the Messages API; other wires have none."""
    pinned = table()["version_without" if temperature is None else "version_with_temperature"]
    return {"anthropic-version": pinned[wire]} if wire in pinned else {}


def _overlaid(
    model: ModelConfig, entry: dict[str, Any], where: str
) -> tuple[Temperature, int, Price | None]:
    """Temperature, max_tokens and price by the config, else the table; UserError names what neither gives."""
    temperature: Temperature | None = (
        entry.get("temperature") if model.temperature is None else model.temperature
    )
    max_tokens: int | None = model.max_tokens or entry.get("max_tokens")
    price = model.price or (Price(**entry["price"]) if "price" in entry else None)
    missing = [
        name
        for name, value in (("temperature", temperature), ("max_tokens", max_tokens))
        if value is None
    ]
    if price is None and model.key_required:
        missing.append("price")
    if missing or temperature is None or max_tokens is None:
        what = "is not in the policy table, and the config does not give its"
        raise UserError(
            f"the model {model.id} {what} {', '.join(missing)}",
            where=where,
            hint="write into its entry:",
            paste=(f"{name}: {UNKNOWN[name]}" for name in missing),
        )
    if entry.get("temperature") == "provider-default" != temperature:
        what, hint = f"{model.id} refuses a temperature", "write `temperature: provider-default`"
        raise UserError(what, where=f"{where}: temperature", hint=hint)
    thoughts = (model.thinking or {}).get("budget_tokens")
    if isinstance(thoughts, int) and thoughts >= max_tokens:
        what, hint = f"budget_tokens must be below max_tokens ({max_tokens})", "raise `max_tokens`"
        raise UserError(what, where=f"{where}: thinking", hint=hint)
    return temperature, max_tokens, price


def _check_wire(
    model: ModelConfig, thinking: dict[str, Any] | None, where: str, thinks: bool
) -> None:
    """UserError for what a model's wire or interface does not take."""
    if model.wire == "chat" and model.served_by == "endpoint" and thinking is not None:
        hint = "set `effort`, which is sent as reasoning_effort, or put the server's own field into `extra_body`"
        raise UserError("Chat Completions has no `thinking`", where=f"{where}: thinking", hint=hint)
    if model.interface == "tool" and model.served_by == "embedded":
        hint = "ask it with `interface: reply`, or serve a larger model"
        raise UserError(
            "the embedded model takes no tool call", where=f"{where}: interface", hint=hint
        )
    if model.interface == "tool" and thinks:
        what, hint = (
            "a forced tool call cannot go with thinking",
            "leave `thinking` out, or ask with `interface: reply`",
        )
        raise UserError(f"{what}: the service refuses it", where=f"{where}: interface", hint=hint)


def _check_extras(model: ModelConfig, where: str) -> None:
    taken = sorted(RESERVED_BODY & model.extra_body.keys())
    if taken:
        what = f"{', '.join(taken)} cannot be set here: the record would not show what was sent"
        hint = "use the model's own keys (temperature, max_tokens, thinking, effort)"
        raise UserError(what, where=f"{where}: extra_body", hint=hint)
    for name, value in model.extra_headers.items():
        if name.lower() in KEY_HEADERS and value.removeprefix("Bearer ") != KEY_PLACEHOLDER:
            hint = f"write `{name}: {KEY_PLACEHOLDER}`, and put the key into the environment as {model.api_key_env}"
            raise UserError(
                f"a key must not be in the config: {name}",
                where=f"{where}: extra_headers",
                hint=hint,
            )
