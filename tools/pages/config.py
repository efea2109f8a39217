"""docs/config.md, from the models of the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fluency.core.study import BudgetConfig, Limits, ModelConfig, Price, SandboxConfig, Study

SECTIONS: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("The study", Study, "Top-level keys."),
    ("`models:`", ModelConfig, "A list with one entry for each model."),
    ("`models[].price`", Price, "US dollars per million tokens."),
    ("`sandbox:`", SandboxConfig, "The container engine."),
    ("`sandbox.limits:`", Limits, "The same for every shell, recorded with every execution."),
    ("`budget:`", BudgetConfig, "What a paid run may cost."),
)


_INTRODUCTION = """\
For those who write a study's file: every key and its default. `config.yaml` is the default study;
[your own file](doing-a-study.md#1-name-the-models) names only what differs. Mappings are merged,
lists are replaced whole. An unknown key, a key given twice, a wrong type (text is never taken for a
number) or an impossible value stops the command before anything starts, with file, key and hint,
exit code 2. `make` names the line of a file that is not YAML; a bare `snakemake --configfile` does
not."""


def pages() -> dict[str, str]:
    """The page by its path."""
    return {"docs/config.md": "\n".join(_lines()) + "\n"}


def _lines() -> Iterator[str]:
    yield "# Configuration\n"
    yield "<!-- Written by `make pages` from scripts/fluency/core/study.py; edit there. -->\n"
    yield _INTRODUCTION
    for title, model, text in SECTIONS:
        yield f"\n## {title}\n\n{text}\n"
        yield "| key | default | meaning |\n|---|---|---|"
        for name, field in model.model_fields.items():
            yield f"| `{name}` | {_default(field)} | {field.description or ''} |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "see below"
    if value is None or value in ("", {}, []):
        return "empty"
    return f"`{value}`" if not isinstance(value, bool) else f"`{str(value).lower()}`"
