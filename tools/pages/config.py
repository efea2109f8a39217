"""docs/config.md, from the models of the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from fluency.core.study import Budget, Limits, ModelConfig, Price, SandboxConfig, Study

SECTIONS: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("The study", Study, "Top-level keys of `config.yaml` and of every override file."),
    ("`models:` one entry a model", ModelConfig, "A list; an override file replaces it whole."),
    ("`models[].price`", Price, "US dollars for a million tokens."),
    ("`sandbox:`", SandboxConfig, "The container engine."),
    ("`sandbox.limits:`", Limits, "Part of the treatment: alike for both arms, recorded with every execution."),
    ("`budget:`", Budget, "What a paid run may cost."),
)


def pages() -> dict[str, str]:
    """The page by its path."""
    return {"docs/config.md": "\n".join(_lines()) + "\n"}


def _lines() -> Iterator[str]:
    yield "# Configuration\n"
    yield "<!-- Written by `python -m tools.pages` from scripts/fluency/core/study.py; edit there. -->\n"
    yield "`config.yaml` is the default study. A file given with `--configfile` (or `CONFIG=` to make) replaces what"
    yield "it names: mappings are merged, lists are replaced whole. An unknown key, a wrong type or an impossible"
    yield "value is one sentence with file and key, exit code 2, before anything starts. A text is never"
    yield "taken for a number, nor `true` for 1, and no key may stand twice. A file that is no YAML at all is named"
    yield "with its line by `make`; a bare `snakemake --configfile` reads it before the project does and says only"
    yield "that it is not valid."
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
