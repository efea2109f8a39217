"""The tables of docs/config.md, from the models of the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from fluency.common.paths import ROOT
from fluency.core.described import docstrings
from fluency.core.schema import FrozenModel
from fluency.core.study import BudgetConfig, Limits, ModelConfig, Price, SandboxConfig, Study
from tools.pages import filled

PAGE = "docs/config.md"
SECTIONS: tuple[tuple[str, type[FrozenModel], str], ...] = (
    ("The study", Study, "Top-level keys."),
    ("`models:`", ModelConfig, "A list with one entry for each model."),
    ("`models[].price`", Price, "US dollars per million tokens."),
    ("`sandbox:`", SandboxConfig, "The container engine."),
    ("`sandbox.limits:`", Limits, "The same for every shell, recorded with every execution."),
    ("`budget:`", BudgetConfig, "What a paid run may cost."),
)


def pages() -> dict[str, str]:
    """The page by its path."""
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    return {PAGE: filled(page, "keys", "\n".join(_lines()))}


def _lines() -> Iterator[str]:
    for title, model, text in SECTIONS:
        yield f"\n## {title}\n\n{text}\n"
        yield "| key | default | meaning |\n|---|---|---|"
        texts = docstrings(model)
        for name, field in model.model_fields.items():
            meaning = " ".join(texts.get(name, "").split())
            yield f"| `{name}` | {_default(field)} | {meaning} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, FrozenModel):
        return "see below"
    if value is None or value in ("", {}, []):
        return "empty"
    return f"`{value}`" if not isinstance(value, bool) else f"`{str(value).lower()}`"
