"""What was run differently in two studies, as far as their provenance tells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from fluency.report.compare.compared_studies import Source

ASKED = ("id", "echoed", "temperature_sent", "max_tokens", "thinking", "effort", "transport", "server", "client")
IMAGE = ("shells", "base", "architecture", "content_sha256", "packages_sha256")
UNKNOWN = "not recorded"


def run_differences(a: Source, b: Source, models: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Everything that is not the same in both, as (what, in A, in B); what a study did not record is said so."""
    pairs = [*_designs(a, b), *_sandboxes(a, b)]
    for model_a, model_b in models:
        pairs += _models(a, b, model_a, model_b)
    return [(what, x, y) for what, x, y in pairs if x != y]


def _designs(a: Source, b: Source) -> Iterator[tuple[str, str, str]]:
    yield "tasks", str(len(a.tasks)), str(len(b.tasks))
    yield "trials", str(a.trials), str(b.trials)
    for key in ("seeds", "conditions", "sandbox"):
        yield key, *(_text((source.provenance.get("config") or {}).get(key)) for source in (a, b))
    for key in ("worlds", "version", "commit"):
        yield key, *(_text(source.provenance.get(key)) for source in (a, b))


def _sandboxes(a: Source, b: Source) -> Iterator[tuple[str, str, str]]:
    for key in IMAGE:
        yield f"image {key.replace('_', ' ')}", *(_text(_of_images(source, key)) for source in (a, b))
    yield "engine", *(_text([json.loads(e) for e in source.provenance.get("engines") or []]) for source in (a, b))


def _of_images(source: Source, key: str) -> list[Any] | None:
    images = [json.loads(image) for image in source.provenance.get("images") or []]
    return sorted({_text(image.get(key)) for image in images}) or None


def _models(a: Source, b: Source, model_a: str, model_b: str) -> Iterator[tuple[str, str, str]]:
    name = model_a if model_a == model_b else f"{model_a} and {model_b}"
    asked = [(source.provenance.get("models") or {}).get(m) for source, m in ((a, model_a), (b, model_b))]
    if all(asked):
        for key in ASKED:
            yield f"{name}: {key.replace('_', ' ')}", *(_text(one.get(key)) for one in asked)
        return
    for column, label in (("model_echoed", "echoed"), ("temperature_sent", "temperature sent")):
        rows = [source.frame.loc[source.frame["model"] == m, column] for source, m in ((a, model_a), (b, model_b))]
        yield f"{name}: {label}", *(_text(_distinct(values) or None) for values in rows)


def _distinct(values: Iterable[Any]) -> list[str]:
    return sorted({str(value) for value in values if not pd.isna(value)})


def _text(value: Any) -> str:
    if value is None or value == []:
        return UNKNOWN
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in sorted(value.items()))
    text = str(value)
    return text[:16] + "…" if len(text) in (40, 64) and not set(text) - set("0123456789abcdef") else text
