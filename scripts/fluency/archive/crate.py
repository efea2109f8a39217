"""ro-crate-metadata.json of an archive: what it is and what stands where, as an RO-Crate 1.1.

Everything in it follows from the manifest and the study, so that it is the same for the same archive and verification
can make it anew. It names the files a reader of data looks for, and folders; each single file stands in the manifest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fluency.archive.citation import AUTHORS, CITATION_FILE, LICENSE, PROJECT, citation_bytes, title_of
from fluency.common.files import pretty_json
from fluency.core.study import Study
from fluency.core.table import Row

CRATE_FILE = "ro-crate-metadata.json"
READER_FILES = (CITATION_FILE, CRATE_FILE)
Entity = dict[str, Any]
_CONTEXT, _PROFILE = "https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/crate/1.1"
_LICENSE_ID = f"https://spdx.org/licenses/{LICENSE}"
_JSON, _MARKDOWN = "application/json", "text/markdown"
_FILES: tuple[tuple[str, str, str], ...] = (
    ("MANIFEST.json", _JSON, "The SHA-256 and size of every other file, and what the archive is."),
    ("README.md", _MARKDOWN, "How to verify the archive and to run it again."),
    (CITATION_FILE, "application/yaml", "How to cite it."),
    ("study.json", _JSON, "The merged configuration of the study."),
    (
        "results/{study}/cells.csv",
        "text/csv",
        "The table of results, one row a cell; its columns are variableMeasured.",
    ),
    ("results/{study}/report.md", _MARKDOWN, "The report: rates, gap, intervals and verdict of each model."),
    ("results/{study}/explorer.html", "text/html", "A page in which every cell can be opened."),
    ("results/{study}/provenance.json", _JSON, "Where the numbers come from: code, libraries, image, sampling."),
    ("held_out.json", _JSON, "Of private tasks: their hashes, and the rows of their cells."),
    ("results/image.json", _JSON, "The container image that commands ran in."),
    ("prices/policies.yaml", "application/yaml", "Sampling policies and dated prices."),
    ("envs/requirements.lock", "text/plain", "The pinned Python environment."),
)
_FOLDERS: tuple[tuple[str, str], ...] = (
    ("answers/", "Every answer as it arrived, named by the SHA-256 of its request."),
    ("preregistrations/", "The registration that the study follows."),
    ("results/executions/", "What each command did, one record a cell."),
    ("results/generations/", "What was asked and answered, one record a cell."),
    ("results/scores/", "How each execution was judged, one record a cell."),
    ("sandbox/", "The sources of the container image."),
    ("tasks/", "The tasks: prompt, check and right answer of each."),
    ("worlds/", "The generated file trees, services and processes that commands ran in."),
)


def reader_files(study: Study, facts: dict[str, Any], names: Collection[str]) -> dict[str, bytes]:
    """The files that describe an archive to other tools, by name: CITATION.cff and the crate.

    `facts` are the manifest's fields, of which those about files are not read; `names` are the archive's other files.
    """
    held = [*names, "MANIFEST.json", CITATION_FILE]
    keywords = ["language models", "evaluation", "shell", *study.shells]
    return {
        CITATION_FILE: citation_bytes(facts, keywords),
        CRATE_FILE: pretty_json(
            {"@context": _CONTEXT, "@graph": list(_entities(study, facts, held, keywords))}
        ).encode(),
    }


def _entities(study: Study, facts: dict[str, Any], held: Collection[str], keywords: list[str]) -> Iterator[Entity]:
    parts = [*_held_files(study, held), *_held_folders(held)]
    models = [{"@id": f"#model-{m.alias}", "@type": "SoftwareApplication", "name": m.id} for m in study.models]
    columns = list(_columns())
    yield {"@id": CRATE_FILE, "@type": "CreativeWork", "conformsTo": _ref(_PROFILE), "about": _ref("./")}
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": title_of(facts["study"]),
        "description": _description(study, facts),
        "datePublished": facts["utc_date"],
        "version": facts["commit"],
        "license": _ref(_LICENSE_ID),
        "author": _ref("#developers"),
        "publisher": _ref("#developers"),
        "keywords": keywords,
        "hasPart": _refs(parts),
        "mentions": _ref("#run"),
        "variableMeasured": _refs(columns),
    }
    yield from parts
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"The run of the study {facts['study']}",
        "instrument": _ref("#project"),
        "object": [*_refs(models), *(_ref(p["@id"]) for p in parts if p["@id"] in ("study.json", "tasks/", "worlds/"))],
        "result": [_ref(part["@id"]) for part in parts if part["@id"].startswith("results/")],
    }
    yield {
        "@id": "#project",
        "@type": "SoftwareApplication",
        "name": PROJECT,
        "version": facts["made_by"],
        "softwareVersion": f"{facts['made_by']}, commit {facts['commit']}",
        "license": _ref(_LICENSE_ID),
    }
    yield {"@id": "#developers", "@type": "Organization", "name": AUTHORS}
    yield {
        "@id": _LICENSE_ID,
        "@type": "CreativeWork",
        "name": f"{LICENSE} licence",
        "description": "Of the project's own files. What a model answered is under the terms of its provider.",
    }
    yield from models
    yield from columns


def _description(study: Study, facts: dict[str, Any]) -> str:
    state = f"{len(facts['missing'])} of them missing" if facts["partial"] else "complete"
    return (
        f"Whether language models write a working one-shot command as often for {' and for '.join(study.shells)}: "
        f"{facts['cells']} cells ({state}) of {len(study.models)} model(s), {study.trials} trial(s) of each task and "
        f"shell, each run in {len(study.seeds)} generated world(s). One file proves itself: `make verify`."
    )


def _held_files(study: Study, held: Collection[str]) -> Iterator[Entity]:
    for pattern, form, text in _FILES:
        name = pattern.format(study=study.study)
        if name in held:
            yield {"@id": name, "@type": "File", "name": name, "encodingFormat": form, "description": text}


def _held_folders(held: Collection[str]) -> Iterator[Entity]:
    for name, text in _FOLDERS:
        if any(file.startswith(name) for file in held):
            yield {"@id": name, "@type": "Dataset", "name": name, "description": text}


def _columns() -> Iterator[Entity]:
    for name, field in Row.model_fields.items():
        yield {"@id": f"#cells.{name}", "@type": "PropertyValue", "name": name, "description": field.description}


def _ref(name: str) -> dict[str, str]:
    return {"@id": name}


def _refs(entities: list[Entity]) -> list[dict[str, str]]:
    return [_ref(entity["@id"]) for entity in entities]
