"""What a service says of the models of a study, held against how the policy table and the config ask them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fluency.common.errors import StopRun, UserError
from fluency.core.study import ModelConfig
from fluency.generation.failure import Failure
from fluency.generation.keys import key_of, needs_key
from fluency.generation.policies import Policy, resolve
from fluency.generation.providers import PROVIDERS, open_provider
from fluency.generation.providers.provider import DescribingProvider
from fluency.generation.reply import count_or_none, text_or_none

ASK_S = 10.0
LEVELS = ("low", "medium", "high", "xhigh", "max")


def service_says(models: Iterable[ModelConfig], environ: Mapping[str, str]) -> list[str]:
    """A sentence or more for each of the models whose wire has a Models API; asks the services whose key is at hand.

    A service that does not answer is said, and stops nothing: the plan needs neither key nor network.
    """
    return [f"{model.alias}: {line}" for model in models for line in _said_of(model, environ)]


def _said_of(model: ModelConfig, environ: Mapping[str, str]) -> list[str]:
    if not needs_key(model) or not hasattr(PROVIDERS[model.wire], "describe"):
        return []  # a server of one's own tells nothing that its owner does not know
    if not environ.get(model.api_key_env, "").strip():
        return [f"not asked, since {model.api_key_env} is not set"]
    try:
        provider = open_provider(model, model.base_url, key_of(model, environ), environ)
        assert isinstance(provider, DescribingProvider)  # its type was looked at
        try:
            told = provider.describe(model.id, ASK_S)
        finally:
            provider.close()
    except (Failure, StopRun, UserError) as error:
        return [f"says nothing of {model.id}: {error.what}"]
    if not isinstance(told, dict) or told.get("type") != "model":
        return ["has no Models API in the provider's form"]
    return [_summary(told), *disagreements(told, resolve(model), model.transport)]


def _summary(told: Mapping[str, Any]) -> str:
    most = count_or_none(told.get("max_tokens"))
    known = [text_or_none(told.get("lifecycle")) or "of no stated lifecycle", f"up to {most} tokens" if most else ""]
    if effort := [level for level in LEVELS if _takes(told, "effort", level)]:
        known.append(f"effort {', '.join(effort)}")
    types = _part(told, "thinking", "types")
    if thinking := [kind for kind in sorted(types) if _takes(told, "thinking", "types", kind)]:
        known.append(f"thinking {', '.join(thinking)}")
    if sampling := [name for name in ("temperature", "top_p", "top_k") if _takes(told, name)]:
        known.append(f"sampling {', '.join(sampling)}")
    else:
        known.append("nothing said of sampling, which the first call will tell")
    return ", ".join(filter(None, known))


def disagreements(told: Mapping[str, Any], policy: Policy, transport: str) -> list[str]:
    """A sentence for each way in which a model would be asked for what its service does not give."""
    return [f"DISAGREES: {sentence}" for sentence in _disagreements(told, policy, transport)]


def _disagreements(told: Mapping[str, Any], policy: Policy, transport: str) -> Iterator[str]:
    lifecycle, ends = text_or_none(told.get("lifecycle")), text_or_none(told.get("retires_at"))
    if lifecycle == "retired":
        yield "the service has retired this model"
    elif lifecycle == "deprecated" or ends:
        yield f"the service ends this model{f' on {ends[:10]}' if ends else ''}"
    most = count_or_none(told.get("max_tokens"))
    if most is not None and policy.max_tokens > most:
        yield f"max_tokens is {policy.max_tokens}, and the service gives {most} at most"
    mode = (policy.thinking or {}).get("type")
    if mode and _takes(told, "thinking", "types", mode) is False:
        yield f"thinking {mode} would be sent, and the service refuses it"
    if policy.effort and _takes(told, "effort", policy.effort) is False:
        yield f"effort {policy.effort} would be sent, and the service does not take it"
    if policy.effort_default == "unsupported" and _takes(told, "effort"):
        yield "the table says that it takes no effort, the service that it does"
    if policy.effort_default not in (None, "unsupported") and _takes(told, "effort") is False:
        yield "the table has a default effort for it, the service says that it takes none"
    if policy.temperature_sent is not None and _takes(told, "temperature") is False:
        yield f"temperature {policy.temperature_sent:g} would be sent, and the service does not take it"
    if transport == "batch" and _takes(told, "batch") is False:
        yield "batches are asked for, and the service takes none of this model"


def _part(told: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """A part of the capabilities; empty where the service does not tell."""
    found: Any = told.get("capabilities")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _takes(told: Mapping[str, Any], *path: str) -> bool | None:
    """Whether a capability is supported; null where the service does not tell."""
    value = _part(told, *path).get("supported")
    return value if isinstance(value, bool) else None
