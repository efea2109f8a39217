"""The sampling policy of a model: the table in policies.yaml, overridden by the config."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from fluency.common.data_file import data_file
from fluency.common.errors import UserError
from fluency.common.files import JsonObject
from fluency.core.records import Answer
from fluency.core.study import ModelConfig, Price
from fluency.generation.api_keys import (
    LOOPBACK,
    VARIABLE,
    open_secrets,
    variables_of,
)
from fluency.generation.reply import dict_or_empty

Temperature = float | Literal["provider-default"]
TABLE: JsonObject = data_file(__file__)
OVERLAID = ("temperature", "max_tokens", "price", "thinking", "effort")
"""What the config may say instead of the table; the first three are needed."""
CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts of the Messages API: tokens of the prompt that the service's cache took or gave."""


@dataclass(frozen=True)
class Policy:
    """How one model is asked. `temperature_sent` is None when none is sent.

    effort_default: what the service uses where none is sent, as far as the table knows.
    """

    temperature_requested: Temperature
    temperature_sent: float | None
    max_tokens: int
    thinking: JsonObject | None
    effort: str | None
    effort_default: str | None
    headers: dict[str, str]
    extra_body: JsonObject
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

    def cost_of(self, answer: Answer) -> float | None:
        """An answer's cost in dollars: as the service states it, else by the tokens it counted.

        OpenRouter states it, unless a user's own key for a provider pays. None without a price,
        without a count (0 means missing: every request and every text has tokens), and where a
        cache was used, whose tokens have other prices.
        """
        usage, stated = answer.usage, dict_or_empty(answer.raw.get("usage"))
        cost = stated.get("cost")
        if isinstance(cost, int | float) and cost > 0 and stated.get("is_byok") is not True:
            return cost
        if self.price and self.price.is_free:
            return 0.0
        if usage.output_tokens is None or (answer.text and not usage.output_tokens):
            return None
        if not usage.input_tokens or any(map(stated.get, CACHED)):
            return None
        return self.cost(usage.input_tokens, usage.output_tokens)

    def counted_usd(self, answer: Answer) -> float:
        """What an answer counts for the budget in dollars: its cost, else the most it can cost."""
        cost = self.cost_of(answer)
        return self.upper_bound_usd(answer.request.text) if cost is None else cost

    def upper_bound_usd(self, text: str, more: int = 0) -> float:
        """The most a call can cost in dollars, with max_tokens out; 0 where no price is known.

        more: tokens that it reads besides the text.
        """
        # No tokenizer in use has less than two bytes a token.
        return self.cost(len(text.encode()) // 2 + 32 + more, self.max_tokens) or 0.0

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


@cache  # it is asked for with every cell
def resolve(model: ModelConfig) -> Policy:
    """The policy of a config entry.

    UserError if neither table nor config gives what is needed, or if the entry cannot be sent,
    holds a key, or would make the record untrue.
    """
    embedded = model.is_embedded
    entry = TABLE["embedded"] if embedded else TABLE["models"].get(model.id, {})
    own = {name: value for name in OVERLAID if (value := getattr(model, name)) is not None}
    said = entry | own
    if model.wire == "chat":  # it has no such field
        said["thinking"] = None
    needed = OVERLAID[: 3 if model.key_required else 2]
    if missing := [name for name in needed if name not in said]:
        what = "is not in the policy table, and the config does not give its"
        raise UserError(
            f"the model {model.id} {what} {', '.join(missing)}",
            where=f"models: {model.alias}",
            hint="write into its entry:",
            paste=(f"{name}: {TABLE['unknown'][name]}" for name in missing),
        )
    _check(model)
    temperature = said["temperature"]
    sent = None if temperature == "provider-default" else temperature
    warned = [*_check_rules(model, said | {"temperature": sent})]
    url = urlsplit(model.base_url or "")
    if url.scheme == "http" and variables_of(model) and not LOOPBACK.fullmatch(url.hostname or ""):
        warned.append(f"its key is sent to {url.hostname} without encryption: use https://")
    samples = sent is not None or {"top_p", "top_k"} & model.extra_body.keys()
    versions = TABLE["version_with_temperature" if samples else "version_without"]
    pinned = {"anthropic-version": versions[model.wire]} if model.wire in versions else {}
    source = f"policies.yaml of {TABLE['read']}{', embedded' if embedded else ''}"
    return Policy(
        temperature_requested=temperature,
        temperature_sent=sent,
        max_tokens=said["max_tokens"],
        thinking=said.get("thinking"),
        effort=said.get("effort"),
        effort_default=said.get("effort_default"),
        headers=pinned | {name.lower(): value for name, value in model.extra_headers.items()},
        extra_body=model.extra_body,
        price=Price.model_validate(said["price"]) if "price" in said else None,
        expected_output_tokens=said.get("expected_output_tokens", 60),
        seeded=embedded,
        note="; ".join([*filter(None, [said.get("note")]), *warned]),
        source=source if entry else "config",
    )


def _check(model: ModelConfig) -> None:
    """UserError for an entry that cannot be sent, holds a key, or makes the record untrue."""
    chat, body = model.wire == "chat", model.extra_body
    taken = {*TABLE["reserved_body"]} & body.keys()
    if chat:
        taken -= {"thinking", "" if model.effort else "reasoning_effort"}
    if body.get("stream") is False:  # as it is sent
        taken.discard("stream")
    keys = {
        key: {name for name, text in open_secrets(value) if not VARIABLE.fullmatch(text)}
        for key, value in {"extra_headers": model.extra_headers, "extra_body": body}.items()
    }
    rows = [
        ("extra_body", taken, "cannot be set here: the record would not show what was sent",
         "use the model's own keys (temperature, max_tokens, thinking, effort)"),
        *((key, names, "must not hold a key in the config",
           f"put it into the environment and write `$NAME` of its variable, or `$KEY` for "
           f"the value of {model.api_key_env}") for key, names in keys.items()),
        ("thinking", {"thinking"} if chat and model.thinking else (),
         "is not in Chat Completions",
         "set `effort`, sent as reasoning_effort, or put the server's field into `extra_body`"),
    ]  # fmt: skip
    for key, names, what, hint in rows:
        if names:
            named = ", ".join(sorted(names))
            raise UserError(f"{named} {what}", where=f"models: {model.alias}: {key}", hint=hint)


def _check_rules(model: ModelConfig, said: JsonObject) -> Iterator[str]:
    """What rules of the table that are not sure exclude; UserError for what a sure one excludes."""
    body, name = model.extra_body, plain_id(model.id)
    settings = vars(model) | said
    settings["thinking"] = said.get("thinking") or body.get("thinking")
    settings["effort"] = said.get("effort") or body.get("reasoning_effort")

    def setting(path: str) -> Any:
        first, _, part = path.partition(".")
        return dict_or_empty(settings[first]).get(part) if part else settings[first]

    for row in TABLE["rules"]:
        key, when = row["setting"], {path: setting(path) for path in row.get("when", {})}
        value, unsure = setting(key), row.get("unsure")
        if (
            not re.fullmatch(row["models"], name)
            or model.wire not in row.get("wires", (model.wire,))
            or not all(_fits(given, row["when"][path]) for path, given in when.items())
            or _fits(value, row["takes"])
            or (value is None and not row.get("required"))
        ):
            continue
        refuses = "needs a" if value is None else "may refuse" if unsure else "refuses"
        with_ = "".join(f" with {path} {given}" for path, given in when.items())
        what = f"{model.id} {refuses} {key} {'' if value is None else value}{with_}"
        default = ["provider-default"] if key == "temperature" else []
        takes = " | ".join(map(str, [*row["takes"], *default])) or "none"
        hint = f"it takes {takes} ({row['source']}, {row['read']})"
        if not unsure:
            where = f"models: {model.alias}: {key.partition('.')[0]}"
            raise UserError(what, where=where, hint=hint)
        yield f"{what}: {hint}"


def _fits(value: Any, takes: list[Any]) -> bool:
    """Whether a setting is one of these values; `0 to 1` is a range."""
    for one in takes:
        low, is_range, high = str(one).partition(" to ")
        if is_range and isinstance(value, int | float):
            return float(low) <= value <= float(high)
        if value == one:
            return True
    return False


def plain_id(name: str) -> str:
    """An id without vendor, region, date and version, with hyphens for the dots of a number.

    us.anthropic.claude-sonnet-4-6-v1:0 and anthropic/claude-sonnet-4.6 are claude-sonnet-4-6.
    """
    name = re.sub(r"(?<=\d)\.(?=\d)", "-", name.lower().rpartition("/")[2]).rpartition(".")[2]
    return re.sub(r"(-20\d\d-?\d\d-?\d\d)?((?<=\d)-v\d+)?([@:].*)?$", "", name)
