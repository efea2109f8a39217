"""Which code decides each stage, as data: what a rule reruns for, and what an archive's layer is made by."""

from __future__ import annotations

from functools import cache

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import ROOT

CODE = {
    "execute": (
        "scripts/fluency/execution/execute.py",
        "scripts/fluency/execution/command.py",
        "scripts/fluency/execution/invocation.py",
        "scripts/fluency/execution/sandbox/isolation.py",
    ),
    "score": ("scripts/fluency/scoring/**/*.*",),
    "gather": (
        "scripts/fluency/core/gather.py",
        "scripts/fluency/core/table.py",
        "scripts/fluency/core/provenance.py",
    ),
    "report": (
        "report/**/*",
        "scripts/fluency/analysis/*",
        "scripts/fluency/report/*",
        "scripts/fluency/report/explorer/*",
    ),
}
"""The code that decides a stage's answer; what the sandbox image is built from is in the image's param instead."""


def code(stage: str) -> list[str]:
    """The files of a stage's code, relative and sorted; compiled files are none."""
    files = {path for pattern in CODE[stage] for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts)


@cache
def code_sha256(stage: str) -> str:
    """One hash over a stage's code: for the rules of every cell, whose jobs would else hash each file again."""
    return sha256(canonical_json({name: sha256_file(ROOT / name) for name in code(stage)}))
