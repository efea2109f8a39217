"""The sampling policy of a model: the table in policies.yaml, overridden by the config."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig, Price
from fluency.generation.api_keys import is_embedded

Temperature = float | Literal["provider-default"]
TABLE: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("policies.yaml").read_text(encoding="utf-8")
)
OVERLAID = ("temperature", "max_tokens", "price", "thinking", "effort")
"""What the config may say instead of the table; the first three are needed."""
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

    temperature_requested: Temperature
    temperature_sent: float | None
    max_tokens: int
    thinking: dict[str, Any] | None
    effort: str | None
    effort_default: str | None
    headers: dict[str, str]
    extra_body: dict[str, Any]
    price: Price | None
    expected_output_tokens: float
    seeded: bool
    note: str
    source: str

    def cost(self, input_tokens: float, output_tokens: float) -> float | None:
        """Dollars for these tokens; null where no price is known."""
        if (price := self.price) is None:
            return None
        sent = input_tokens * price.input_usd_per_mtok
        return (sent + output_tokens * price.output_usd_per_mtok) / 1_000_000

    def describe(self) -> str:
        """Temperature, thinking, effort and limit in words."""
        sent = self.temperature_sent
        parts = ["provider default" if sent is None else f"temperature {sent:g}"]
        if self.thinking and "type" in self.thinking:
            parts.append(f"thinking {self.thinking['type']}")
        known = f", {self.effort_default}" if self.effort_default else ""
        if not self.seeded:  # llama.cpp has no effort
            default = f"not sent (the service's default{known})"
            parts.append(f"effort {self.effort or default}")
        return ", ".join([*parts, f"up to {self.max_tokens} tokens"])

    def describe_price(self) -> str:
        """The price of a million tokens in words."""
        if (price := self.price) is None:
            return "no price: counted as free"
        rates = f"${price.input_usd_per_mtok:g} / ${price.output_usd_per_mtok:g}"
        return "free" if price.is_free else f"{rates} a million tokens on {price.dated}"


def resolve(model: ModelConfig) -> Policy:
    """The policy of a config entry.

    UserError if neither table nor config gives what is needed, or if the entry cannot be sent,
    holds a key, or would make the record untrue.
    """
    embedded = is_embedded(model)
    entry = TABLE["embedded"] if embedded else TABLE["models"].get(model.id, {})
    said = {name: value for name in OVERLAID if (value := getattr(model, name)) is not None}
    said = entry | said
    if model.wire == "chat" and model.thinking is None:  # it has no such field
        said.pop("thinking", None)
    needed = OVERLAID[: 3 if model.key_required else 2]
    if missing := [name for name in needed if name not in said]:
        what = "is not in the policy table, and the config does not give its"
        raise UserError(
            f"the model {model.id} {what} {', '.join(missing)}",
            where=f"models: {model.alias}",
            hint="write into its entry:",
            paste=(f"{name}: {UNKNOWN[name]}" for name in missing),
        )
    _check(model, entry, said)
    temperature: Temperature = said["temperature"]
    sent = None if temperature == "provider-default" else temperature
    versions = TABLE["version_without" if sent is None else "version_with_temperature"]
    pinned = {"anthropic-version": versions[model.wire]} if model.wire in versions else {}
    source = f"policies.yaml of {TABLE['read']}{', embedded' if embedded else ''}"
    return Policy(
        temperature_requested=temperature,
        temperature_sent=sent,
        max_tokens=said["max_tokens"],
        thinking=said.get("thinking"),
        effort=said.get("effort"),
        effort_default=entry.get("effort_default"),
        headers=pinned | {name.lower(): value for name, value in model.extra_headers.items()},
        extra_body=model.extra_body,
        price=Price.model_validate(said["price"]) if "price" in said else None,
        expected_output_tokens=entry.get("expected_output_tokens", 60),
        seeded=embedded,
        note=entry.get("note", ""),
        source=source if entry else "config",
    )


def _check(model: ModelConfig, entry: dict[str, Any], said: dict[str, Any]) -> None:
    """UserError for the first row that applies; `said` is the entry overlaid by the config."""
    temperature, max_tokens = said["temperature"], said["max_tokens"]
    thinking = said.get("thinking", {})
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
