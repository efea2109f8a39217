"""How a model is asked, in the words of the plan."""

from __future__ import annotations

from fluency.generation.policies import Policy


def sampling_words(policy: Policy) -> str:
    """Temperature, thinking, effort and limit of a policy, as they are sent or left to the service."""
    thinking = f", thinking {policy.thinking['type']}" if policy.thinking and "type" in policy.thinking else ""
    effort = _effort(policy)
    asked = policy.temperature_requested
    if policy.temperature_sent is None and asked != "provider-default":
        return f"provider default (temperature {asked:g} was refused){thinking}{effort}"
    sampling = "provider default" if policy.temperature_sent is None else f"temperature {policy.temperature_sent:g}"
    return f"{sampling}{thinking}{effort}, up to {policy.max_tokens} tokens"


def _effort(policy: Policy) -> str:
    if policy.seeded:  # llama.cpp knows no such thing
        return ""
    if policy.effort or policy.effort_default == "unsupported":
        return f", effort {policy.effort}" if policy.effort else ", takes no effort"
    known = f", {policy.effort_default}" if policy.effort_default else ""
    return f", effort not sent (the service's default{known})"
