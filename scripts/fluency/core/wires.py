"""The wires: the protocols that a model can be asked by, as configurations and records name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Wire = Literal["messages", "chat", "bedrock", "vertex"]
KEY_OF: Mapping[Wire, str] = {
    "messages": "ANTHROPIC_API_KEY",
    "chat": "OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "vertex": "VERTEX_ACCESS_TOKEN",
}
"""Wire -> the environment variable that holds its key where a model's entry names none."""
