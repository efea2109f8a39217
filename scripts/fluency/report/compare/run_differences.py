"""What was run differently in two studies, as far as their provenance tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fluency.core.provenance import Provenance, Sampling
from fluency.report.compare.compared_study import ComparedStudy

UNKNOWN, NOTHING = "not recorded", "none"
RESULT = {"answers", "input_tokens", "output_tokens", "cost_usd", "price", "refusals", "inference_geo"}
"""What of a model's sampling is no way of asking."""
NEW_IN_2 = {"extra_body", "headers"}


class Difference(NamedTuple):
    """What was not the same, as texts."""

    what: str
    a: str
    b: str


def run_differences(a: ComparedStudy, b: ComparedStudy, models: Sequence[tuple[str, str]]) -> list[Difference]:
    """Everything that is not the same in both; what a study did not record is said so."""
    looked_at = [*_designs(a, b), *_surroundings(a, b)]
    for model_a, model_b in models:
        looked_at += _models(a, b, model_a, model_b)
    return [found for found in looked_at if found.a != found.b]


def changed_tasks(a: ComparedStudy, b: ComparedStudy) -> list[str]:
    """The tasks of both studies whose files were not the same, in A's order."""
    hashes = [study.provenance.task_sha256 if study.provenance else {} for study in (a, b)]
    return [task for task in a.tasks if all(task in known for known in hashes) and hashes[0][task] != hashes[1][task]]


def _designs(a: ComparedStudy, b: ComparedStudy) -> Iterator[Difference]:
    yield Difference("tasks", str(len(a.tasks)), str(len(b.tasks)))
    yield Difference("trials", str(a.trials), str(b.trials))
    for key in ("worlds", "conditions", "version", "commit"):
        yield Difference(key, _recorded(a, key), _recorded(b, key))


def _recorded(study: ComparedStudy, key: str) -> str:
    value = getattr(study.provenance, key) if study.provenance else None
    return _text(value) if value else UNKNOWN


def _surroundings(a: ComparedStudy, b: ComparedStudy) -> Iterator[Difference]:
    """Each fact of the images, engines and limits; an image's id is another one wherever the same is built again."""
    for what, field in (("image", "images"), ("engine", "engines"), ("limit", "limits")):
        one, other = (_documents(study, field) for study in (a, b))
        for key in dict.fromkeys(key for document in (*one, *other) for key in document if key != "image_id"):
            yield Difference(f"{what} {key.replace('_', ' ')}", _of_all(one, key), _of_all(other, key))


def _documents(study: ComparedStudy, field: str) -> list[dict[str, Any]]:
    return study.provenance.model_dump(mode="json", include={field})[field] if study.provenance else []


def _of_all(documents: Sequence[Mapping[str, Any]], key: str) -> str:
    return ", ".join(sorted({_text(document.get(key)) for document in documents})) or UNKNOWN


def _models(a: ComparedStudy, b: ComparedStudy, model_a: str, model_b: str) -> Iterator[Difference]:
    name = model_a if model_a == model_b else f"{model_a} and {model_b}"
    one, other = _sampling(a, model_a), _sampling(b, model_b)
    if one and other:
        for key in sorted(Sampling.model_fields.keys() - RESULT):
            yield Difference(
                f"{name}: {key.replace('_', ' ')}", _asked(a.provenance, one, key), _asked(b.provenance, other, key)
            )
        return
    for column, label in (("model_echoed", "echoed"), ("temperature_sent", "temperature sent")):
        yield Difference(f"{name}: {label}", _in_table(a, model_a, column), _in_table(b, model_b, column))


def _sampling(study: ComparedStudy, model: str) -> Sampling | None:
    return study.provenance.sampling.get(model) if study.provenance else None


def _asked(provenance: Provenance | None, sampling: Sampling, key: str) -> str:
    if provenance is None or (provenance.schema_version == 1 and key in NEW_IN_2) or not sampling.answers:
        return UNKNOWN
    return _text(getattr(sampling, key))


def _in_table(study: ComparedStudy, model: str, column: str) -> str:
    values = study.frame.loc[study.frame["model"] == model, column].dropna()
    return ", ".join(sorted(set(map(str, values)))) or UNKNOWN


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return NOTHING
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in sorted(value.items()))
    text = str(value)
    return text[:16] + "…" if len(text) in (40, 64) and not set(text) - set("0123456789abcdef") else text
