"""ro-crate-metadata.json of an archive: what it is and what its files are, as an RO-Crate 1.1.

Everything in it follows from the manifest and the study. It names the files a reader of data looks for, and folders;
every file is named in the manifest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fluency.common.files import pretty_json
from fluency.core.study import Study
from fluency.core.table import Row

CRATE_FILE = "ro-crate-metadata.json"
PROJECT = "Agent Shell Fluency Eval"
AUTHORS = "The Agent Shell Fluency Eval developers"
LICENSE = "MIT"
Entity = dict[str, Any]
_CONTEXT, _PROFILE = "https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/crate/1.1"
_LICENSE_ID = f"https://spdx.org/licenses/{LICENSE}"
_JSON, _MARKDOWN, _YAML = "application/json", "text/markdown", "application/yaml"
_PARTS: dict[str, tuple[str, str]] = {
    "MANIFEST.json": (_JSON, "The SHA-256 and size of every other file, and what the archive is."),
    "README.md": (_MARKDOWN, "How to verify the archive and to run it again."),
    "study.json": (_JSON, "The merged configuration of the study."),
    "results/{study}/cells.csv": (
        "text/csv",
        "The results, one row for each cell; its columns are variableMeasured.",
    ),
    "results/{study}/report.md": (
        _MARKDOWN,
        "The report: rates, gap, intervals and verdict of each model.",
    ),
    "results/{study}/explorer.html": ("text/html", "A page in which every cell can be opened."),
    "results/{study}/provenance.json": (
        _JSON,
        "Where the numbers come from: code, libraries, image, sampling.",
    ),
    "held_out.json": (_JSON, "Of private tasks: their hashes, and the rows of their cells."),
    "results/image.json": (_JSON, "The container image that commands ran in."),
    "prices/policies.yaml": (_YAML, "Sampling policies and dated prices."),
    "envs/requirements.lock": ("text/plain", "The pinned Python environment."),
    "answers/": ("", "Every answer as it arrived, named by the SHA-256 of its request."),
    "preregistrations/": ("", "The registration that the study follows."),
    "results/executions/": ("", "What each command did, one record for each cell."),
    "results/generations/": ("", "What was asked and answered, one record for each cell."),
    "results/scores/": ("", "How each execution was scored, one record for each cell."),
    "sandbox/": ("", "The sources of the container image."),
    "tasks/": ("", "The tasks: prompt, check and right answer of each."),
    "worlds/": ("", "The generated file trees, services and processes that commands ran in."),
}
"""File or folder -> media type, empty for a folder, and description."""


def crate_bytes(study: Study, facts: dict[str, Any], names: Collection[str]) -> bytes:
    """The file. facts: the manifest's fields, less those about files. names: the archive's other files."""
    parts = list(_parts(study, [*names, "MANIFEST.json"]))
    return pretty_json(
        {"@context": _CONTEXT, "@graph": list(_entities(study, facts, parts))}
    ).encode()


def _parts(study: Study, names: Collection[str]) -> Iterator[Entity]:
    for pattern, (form, text) in _PARTS.items():
        name = pattern.format(study=study.study)
        if name in names if form else any(file.startswith(name) for file in names):
            kind = {"@type": "File", "encodingFormat": form} if form else {"@type": "Dataset"}
            yield {"@id": name, **kind, "name": name, "description": text}


def _entities(study: Study, facts: dict[str, Any], parts: list[Entity]) -> Iterator[Entity]:
    models = [
        {"@id": f"#model-{m.alias}", "@type": "SoftwareApplication", "name": m.id}
        for m in study.models
    ]
    columns = [
        {
            "@id": f"#cells.{name}",
            "@type": "PropertyValue",
            "name": name,
            "description": field.description,
        }
        for name, field in Row.model_fields.items()
    ]
    state = f"{len(facts['missing'])} of them missing" if facts["partial"] else "complete"
    yield {
        "@id": CRATE_FILE,
        "@type": "CreativeWork",
        "conformsTo": _ref(_PROFILE),
        "about": _ref("./"),
    }
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{PROJECT}: the study {facts['study']}",
        "description": "Whether language models write a working one-shot command as often for "
        f"{' and for '.join(study.shells)}: {facts['cells']} cells ({state}) of {len(study.models)} model(s), "
        f"{study.trials} trial(s) of each task and shell, each run in {len(study.seeds)} generated world(s). "
        "`make verify` checks the archive.",
        "datePublished": facts["utc_date"],
        "version": facts["commit"],
        "license": _ref(_LICENSE_ID),
        "author": _ref("#developers"),
        "publisher": _ref("#developers"),
        "keywords": ["language models", "evaluation", "shell", *study.shells],
        "hasPart": _refs(parts),
        "mentions": _refs(models),
        "variableMeasured": _refs(columns),
    }
    yield from parts
    yield {"@id": "#developers", "@type": "Organization", "name": AUTHORS}
    yield {
        "@id": _LICENSE_ID,
        "@type": "CreativeWork",
        "name": f"{LICENSE} licence",
        "description": "Of the project's own files. What a model answered is under the terms of its provider.",
    }
    yield from models
    yield from columns


def _ref(name: str) -> dict[str, str]:
    return {"@id": name}


def _refs(entities: list[Entity]) -> list[dict[str, str]]:
    return [_ref(entity["@id"]) for entity in entities]
