"""The sampling policy of a model: the table in policies.yaml, overridden by the config."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig, Price, Wire
from fluency.generation.api_keys import is_embedded

Temperature = float | Literal["provider-default"]
TABLE = Path(__file__).with_name("policies.yaml")
DEFAULT_OUTPUT_TOKENS = 60
RESERVED_BODY = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "thinking",
    "output_config", "reasoning_effort", "stream", "seed", "system", "tools", "tool_choice", "n",
})  # fmt: skip
UNKNOWN = {
    "temperature": "0.7  # or provider-default",
    "max_tokens": "8192  # room for a model that always thinks; others need 1024",
    "price": '{input_usd_per_mtok: 5, output_usd_per_mtok: 25, dated: "2026-09-30"}  # its own',
}
"""What a user can paste for a model that the table does not know; the price is Opus's."""
KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "proxy-authorization", "cookie"})
KEY_PLACEHOLDER = "$KEY"


@dataclass(frozen=True)
class Policy:
    """How one model is asked. `temperature_sent` is None when none is sent.

    effort_default: what the service uses where none is sent, as far as the table knows.
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
    expected_output_tokens: float = DEFAULT_OUTPUT_TOKENS
    seeded: bool = False
    note: str = ""
    source: str = "config"

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Dollars for these tokens; null where no price is known."""
        if (price := self.price) is None:
            return None
        sent = input_tokens * price.input_usd_per_mtok
        return (sent + output_tokens * price.output_usd_per_mtok) / 1_000_000

    def describe(self) -> str:
        """Temperature, thinking, effort and limit in words."""
        sent, effort = self.temperature_sent, self.effort
        parts = ["provider default" if sent is None else f"temperature {sent:g}"]
        if self.thinking and "type" in self.thinking:
            parts.append(f"thinking {self.thinking['type']}")
        known = f", {self.effort_default}" if self.effort_default else ""
        default = f"effort not sent (the service's default{known})"
        if not self.seeded:  # llama.cpp has no effort
            parts.append(f"effort {effort}" if effort else default)
        return ", ".join([*parts, f"up to {self.max_tokens} tokens"])


@cache
def table() -> dict[str, Any]:
    """The content of policies.yaml."""
    entries: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return entries


def resolve(model: ModelConfig) -> Policy:
    """The policy of a config entry.

    UserError if neither table nor config gives what is needed, or if the entry cannot be sent,
    holds a key, or would make the record untrue.
    """
    known, embedded = table(), is_embedded(model)
    entry = known["embedded"] if embedded else known["models"].get(model.id, {})
    source = f"policies.yaml of {known['read']}{', embedded' if embedded else ''}"
    temperature: Temperature | None = model.temperature
    if temperature is None:
        temperature = entry.get("temperature")
    max_tokens: int | None = model.max_tokens or entry.get("max_tokens")
    price = model.price or (Price(**entry["price"]) if "price" in entry else None)
    thinking = model.thinking
    if thinking is None and model.wire != "chat":  # which has no such field
        thinking = entry.get("thinking")
    values = {"temperature": temperature, "max_tokens": max_tokens, "price": price}
    needed = list(values)[: 3 if model.key_required else 2]
    missing = [name for name in needed if values[name] is None]
    if missing or temperature is None or max_tokens is None:
        what = "is not in the policy table, and the config does not give its"
        raise UserError(
            f"the model {model.id} {what} {', '.join(missing)}",
            where=f"models: {model.alias}",
            hint="write into its entry:",
            paste=(f"{name}: {UNKNOWN[name]}" for name in missing),
        )
    _check(model, entry, thinking or {}, temperature, max_tokens)
    sent = None if temperature == "provider-default" else float(temperature)
    return Policy(
        model_id=model.id,
        temperature_requested="provider-default" if sent is None else sent,
        temperature_sent=sent,
        max_tokens=max_tokens,
        thinking=thinking,
        effort=model.effort or entry.get("effort"),
        effort_default=entry.get("effort_default"),
        headers=version_headers(model.wire, sent)
        | {name.lower(): value for name, value in model.extra_headers.items()},
        extra_body=dict(model.extra_body),
        price=price,
        expected_output_tokens=entry.get("expected_output_tokens", DEFAULT_OUTPUT_TOKENS),
        seeded=embedded,
        note=entry.get("note", ""),
        source=source if entry else "config",
    )


def version_headers(wire: Wire, temperature: float | None) -> dict[str, str]:
    """The header that pins the version of the Messages API; other wires have none."""
    pinned = table()["version_without" if temperature is None else "version_with_temperature"]
    return {"anthropic-version": pinned[wire]} if wire in pinned else {}


def _check(
    model: ModelConfig,
    entry: dict[str, Any],
    thinking: dict[str, Any],
    temperature: Temperature,
    max_tokens: int,
) -> None:
    """UserError for the first row that applies."""
    kind, budget = thinking.get("type"), thinking.get("budget_tokens")
    thinks, always = kind in ("adaptive", "enabled"), entry.get("always_thinks")
    calls, chat = model.interface == "tool", model.wire == "chat"
    taken = ", ".join(sorted(RESERVED_BODY & model.extra_body.keys()))
    headers = model.extra_headers.items()
    keys = ", ".join(
        name
        for name, value in headers
        if name.lower() in KEY_HEADERS and value.removeprefix("Bearer ") != KEY_PLACEHOLDER
    )
    odd = ", ".join(
        name
        for name, value in headers
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", name) or not value.isprintable()
    )
    sent = 0.0 if temperature == "provider-default" else temperature
    rows = (
        (taken, f"{taken} cannot be set here: the record would not show what was sent",
         "extra_body", "use the model's own keys (temperature, max_tokens, thinking, effort)"),
        (keys, f"a key must not be in the config: {keys}", "extra_headers",
         f"write `{KEY_PLACEHOLDER}` for it, and put it into the environment "
         f"as {model.api_key_env}"),
        (odd, f"this is not a header: {odd}", "extra_headers", "write `name: text` on one line"),
        (chat and thinking, "Chat Completions has no `thinking`", "thinking",
         "set `effort`, sent as reasoning_effort, or put the server's field into `extra_body`"),
        (calls and is_embedded(model), "the embedded model takes no tool call", "interface",
         "ask it with `interface: reply`, or serve a larger model"),
        (calls and (thinks or always),
         "a forced tool call cannot go with thinking: the service refuses it", "interface",
         "leave `thinking` out, or ask with `interface: reply`"),
        (always and kind == "disabled", f"the thinking of {model.id} cannot be switched off",
         "thinking", "leave it out; see `effort`"),
        (model.effort and entry.get("effort_default") == "unsupported",
         f"{model.id} takes no effort", "effort", "leave it out"),
        (entry.get("temperature") == "provider-default" != temperature,
         f"{model.id} refuses a temperature", "temperature", "write `provider-default`"),
        (entry and not chat and sent > 1, f"{model.id} takes a temperature of at most 1",
         "temperature", "write at most 1"),
        (thinks and temperature not in ("provider-default", 1),
         f"temperature {temperature} cannot go with thinking: the service takes only 1",
         "temperature", "leave `thinking` out, or set `temperature: provider-default`"),
        (isinstance(budget, int) and budget >= max_tokens,
         f"budget_tokens must be below max_tokens ({max_tokens})", "thinking",
         "raise `max_tokens`"),
    )  # fmt: skip
    for applies, what, key, hint in rows:
        if applies:
            raise UserError(what, where=f"models: {model.alias}: {key}", hint=hint)
