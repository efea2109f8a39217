"""CITATION.cff of an archive: how the study is cited, in the Citation File Format 1.2.0."""

from __future__ import annotations

from typing import Any

import yaml

CITATION_FILE = "CITATION.cff"
PROJECT = "Agent Shell Fluency Eval"
AUTHORS = "The Agent Shell Fluency Eval developers"
LICENSE = "MIT"


def title_of(study: str) -> str:
    """The title of a study's archive."""
    return f"{PROJECT}: the study {study}"


def citation_bytes(facts: dict[str, Any], keywords: list[str]) -> bytes:
    """The file from a manifest's fields; the project itself, in the version that made it, is its reference."""
    document = {
        "cff-version": "1.2.0",
        "message": "Cite the archive by its SHA-256, which `make verify` prints, beside what stands here.",
        "type": "dataset",
        "title": title_of(facts["study"]),
        "abstract": f"{facts['cells']} cells of a study that asks language models for one-shot shell commands: "
        "prompts, answers, executions in generated worlds, judgements and the report.",
        "authors": [{"name": AUTHORS}],
        "date-released": facts["utc_date"],
        "version": facts["commit"],
        "license": LICENSE,
        "keywords": keywords,
        "references": [
            {"type": "software", "title": PROJECT, "authors": [{"name": AUTHORS}], "version": facts["made_by"]}
        ],
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110).encode()
