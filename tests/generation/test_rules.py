"""The rules of models: what is refused before it is sent, what the plan warns of, what is sent."""

import re

import pytest

from fluency.common.errors import UserError
from fluency.core.study import ModelConfig
from fluency.generation.policies import TABLE, plain_id, resolve

PRICE = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2, "dated": "2026-11-01"}
CLAUDE = "effort=none, effort=minimal, thinking=on, temperature=1.5, thinking=enabled, "
CLAUDE += "thinking=enabled:512, thinking=adaptive tool, thinking=adaptive temperature=0.7, "
THINKS = f"{CLAUDE} tool, thinking=disabled, thinking=enabled:2048, temperature=0.7, top_p=0.9"
SAMPLED = "temperature=0.7, temperature=0, top_k=5, tool, tool temperature=0.7"
SETTINGS = {
    "claude-haiku-4-5": {
        "refused": f"{CLAUDE} effort=low, thinking=adaptive",
        "warned": "temperature=0.7 top_p=0.9",
        "sent": f"{SAMPLED}, thinking=enabled:2048, thinking=enabled:2048 temperature=1",
    },
    "claude-sonnet-4-5-20250929": {
        "refused": f"{CLAUDE} effort=low, effort=high, thinking=adaptive, temperature=1 top_p=0.9",
        "sent": f"{SAMPLED}, thinking=disabled",
    },
    "claude-opus-4-5": {
        "refused": f"{CLAUDE} effort=max, effort=xhigh, thinking=adaptive, temperature=1 top_p=1",
        "sent": f"{SAMPLED}, effort=high",
    },
    "us.anthropic.claude-sonnet-4-6-v1:0": {
        "wire": "bedrock",
        "refused": f"{CLAUDE} effort=xhigh, temperature=0.7 top_p=0.9, thinking=adaptive:2048",
        "sent": f"{SAMPLED}, effort=max, thinking=adaptive, thinking=enabled:1024",
    },
    "claude-opus-4-7": {
        "refused": f"{CLAUDE} temperature=0.7, top_p=0.9, top_k=5, thinking=enabled:2048",
        "warned": "thinking=disabled",
        "sent": "effort=xhigh, thinking=adaptive, tool",
    },
    "claude-opus-5": {
        "refused": f"{CLAUDE} effort=xhigh thinking=disabled, effort=max thinking=disabled",
        "sent": "effort=high thinking=disabled, effort=max thinking=adaptive, tool",
    },
    "claude-sonnet-5": {
        "refused": f"{CLAUDE} thinking=enabled:2048, top_k=5, thinking=between_tools",
        "sent": "effort=xhigh thinking=disabled, effort=max, tool",
    },
    "claude-sonnet-5-5": {
        "refused": f"{THINKS}, effort=xhigh thinking=between_tools",
        "sent": "effort=high thinking=between_tools, effort=max thinking=adaptive",
    },
    "claude-haiku-5-5": {
        "refused": f"{CLAUDE} temperature=0.7, thinking=enabled:2048",
        "warned": "effort=xhigh thinking=disabled",
        "sent": "effort=high thinking=disabled, tool",
    },
    "claude-opus-5-5@20261001": {"wire": "vertex", "refused": THINKS, "sent": "effort=max"},
    "claude-fable-5-1": {"refused": THINKS, "sent": "effort=low, thinking=adaptive"},
    "claude-fable-5-2": {
        "warned": "tool, thinking=disabled, temperature=0.7",
        "sent": "effort=low",
    },
    "anthropic/claude-opus-5.5": {
        "wire": "chat",
        "refused": "tool, temperature=0.7, top_p=0.9",
        "sent": "effort=low, effort=none",
    },
    "openai/gpt-5-2025-08-07": {
        "wire": "chat",
        "refused": "effort=none, effort=xhigh, effort=max, reasoning_effort=none",
        "warned": "temperature=0.7",
        "sent": "effort=minimal, tool, temperature=1, reasoning_effort=minimal",
    },
    "gpt-5.1": {
        "wire": "chat",
        "refused": "effort=minimal, effort=xhigh, effort=low temperature=0.7",
        "sent": "effort=none temperature=0.7, temperature=0.7, effort=high tool",
    },
    "gpt-5.4": {
        "wire": "chat",
        "refused": "effort=minimal, effort=max, effort=high temperature=0.7, effort=low tool",
        "sent": "effort=none temperature=0.7, effort=xhigh, tool, effort=none tool",
    },
    "gpt-5.5": {"wire": "chat", "warned": "effort=max, effort=low temperature=0.7"},
    "gpt-5.6-terra": {
        "wire": "chat",
        "refused": "effort=minimal, tool, effort=low tool",
        "warned": "temperature=0.7",
        "sent": "effort=none tool, effort=max",
    },
    "gpt-6.1-sol": {"wire": "chat", "warned": "tool, effort=none", "sent": "effort=max"},
    "google/gemini-3-pro-preview": {"wire": "chat", "warned": "effort=none", "sent": "effort=low"},
    "x-ai/grok-4": {"wire": "chat", "refused": "effort=low, effort=none", "sent": "tool"},
    "x-ai/grok-4.3:free": {"wire": "chat", "refused": "effort=max", "sent": "effort=none"},
    "deepseek-v4-pro": {"refused": "thinking=adaptive", "sent": "thinking=disabled, effort=max"},
    "kimi-k3": {"wire": "chat", "warned": "temperature=0.7", "sent": "temperature=1"},
    "qwen3:8b": {"sent": "effort=none, thinking=on temperature=0.7, temperature=2 top_p=0.9"},
}
"""Id -> its wire, and what becomes of settings."""
CASES = [
    (name, said.get("wire", "messages"), setting.strip(), outcome)
    for name, said in SETTINGS.items()
    for outcome in ("refused", "warned", "sent")
    for setting in said.get(outcome, "").split(",")
    if setting
]


def entry_of(name, wire, setting) -> ModelConfig:
    entry = {"alias": "m", "id": name, "wire": wire, "max_tokens": 8192, "price": PRICE}
    entry |= {"temperature": "provider-default", "extra_body": {}}
    entry |= {"region": "us", "project": "mine"}
    for word in setting.split():
        key, _, value = word.partition("=")
        kind, _, budget = value.partition(":")
        if key == "tool":
            entry["interface"] = "tool"
        elif key == "thinking":
            tokens = {"budget_tokens": int(budget)} if budget else {}
            entry["thinking"] = {"type": kind} | tokens
        elif key in ("effort", "temperature"):
            entry[key] = value if key == "effort" else float(value)
        else:
            entry["extra_body"][key] = value if key == "reasoning_effort" else float(value)
    return ModelConfig.model_validate(entry)


@pytest.mark.parametrize("name, wire, setting, outcome", CASES)
def test_setting_is_refused_warned_of_or_sent(name, wire, setting, outcome):
    entry = entry_of(name, wire, setting)
    if outcome == "refused":
        with pytest.raises(UserError, match=re.escape(name)) as caught:
            resolve(entry)
        assert caught.value.where.startswith("models: m: ") and ", 2026-" in caught.value.hint
    else:
        assert ("may refuse" in resolve(entry).note) == (outcome == "warned")


def test_every_rule_has_a_source_and_a_day_and_refuses_a_setting():
    needed = {"models", "setting", "takes", "source", "read"}
    for rule in TABLE["rules"]:
        assert needed <= rule.keys() <= needed | {"wires", "when", "required", "unsure"}
        assert rule["source"] and re.fullmatch(r"2026-\d\d-\d\d", rule["read"])
        named = [name for name in SETTINGS if re.fullmatch(rule["models"], plain_id(name))]
        assert named or rule.get("unsure"), rule


def test_default_of_every_model_in_the_table_passes_its_rules():
    for name in TABLE["models"]:
        assert "may refuse" not in resolve(ModelConfig(alias="m", id=name)).note
