"""Which code decides each stage, as data: what a rule reruns for, and what an archive's layer is made by.

A test holds it against the imports: the files of a stage are its import closure, less a written list of what cannot
move its answer, and every distribution that the closure imports is among its libraries.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import ROOT

_PACKAGE = "scripts/fluency"


@dataclass(frozen=True)
class StageCode:
    """Files as patterns relative to the project, and distributions, that decide a stage's answer."""

    files: tuple[str, ...]
    libraries: tuple[str, ...] = ()

    def __add__(self, more: StageCode) -> StageCode:
        return StageCode(self.files + more.files, self.libraries + more.libraries)


def _package(*patterns: str) -> tuple[str, ...]:
    return tuple(f"{_PACKAGE}/{pattern}" for pattern in patterns)


# The nouns and the worlds, on which every stage stands.
_BASE = StageCode(
    _package(
        "common/canonical.py",
        "common/errors.py",
        "common/files.py",
        "common/paths.py",
        "common/source_file.py",
        "core/cells.py",
        "core/config_files.py",
        "core/deadline.py",
        "core/part.py",
        "core/records/*.py",
        "core/shells.py",
        "core/study.py",
        "core/task_world.py",
        "core/tasks.py",
        "world/*.*",
    ),
    ("pydantic", "pyyaml", "rfc8785"),
)
_SCORE = _BASE + StageCode(
    _package("scoring/**/*.*"),
    ("tree-sitter", "tree-sitter-bash", "tree-sitter-pwsh"),
)
_TABLE = _BASE + StageCode(
    _package("core/collect.py", "core/gather.py", "core/provenance.py", "core/table.py"), ("pandas",)
)
_ANALYSIS = _TABLE + StageCode(_package("analysis/*.py"), ("numpy", "scipy"))
_REPORT = _ANALYSIS + StageCode(
    (*_package("report/*.py"), "report/report.md.j2", "report/sections/**/*.*"),
    ("jinja2", "markupsafe", "matplotlib"),
)
_SANDBOX = _BASE + StageCode(
    _package("execution/invocation.py", "execution/sandbox/image_content.py", "execution/sandbox/protocol.py")
)
_REQUEST = _BASE + StageCode(
    _package("generation/*.py", "generation/providers/*.py", "generation/*.yaml"), ("anthropic",)
)

LAYERS: Mapping[str, StageCode] = {
    "worlds": _BASE,
    "request": _REQUEST,
    "sandbox": _SANDBOX,
    "command": _BASE + StageCode(_package("execution/command.py", "execution/execute.py", "execution/invocation.py")),
    "score": _SCORE,
    "table": _TABLE,
    "report": _REPORT,
    "explorer": _REPORT
    + _SCORE
    + StageCode((*_package("report/explorer/*.py"), "report/explorer*", "report/explorer/**/*.*")),
    "registration": _REQUEST
    + _SANDBOX
    + _SCORE
    + StageCode(
        _package(
            "analysis/analysis_plan.py",
            "analysis/bands.py",
            "archive/design.py",
            "archive/registration*.py",
            "common/self_hash.py",
            "core/provenance.py",
        )
    ),
}
"""What each layer of an archive is made by. A file too many makes a difference unproven where it could be called a
contradiction, a file too few the reverse; so what is in doubt is in."""

RERUNS: Mapping[str, StageCode] = {
    # Not the base: what of it changes an execution stands in the rule's param itself (worlds, limits, needs), and
    # what the sandbox image is built from in the image's.
    "execute": StageCode(
        _package(
            "execution/command.py",
            "execution/execute.py",
            "execution/invocation.py",
            "execution/sandbox/isolation.py",
        )
    ),
    "score": _SCORE,
    "gather": _TABLE,
    "report": LAYERS["report"] + LAYERS["explorer"],
}
"""What each rule of the Snakefile reruns for."""


def code(rule: str) -> list[str]:
    """The files of a rule's code, relative to the project and sorted; compiled files are none."""
    return files_of(RERUNS[rule])


@cache
def code_sha256(rule: str) -> str:
    """One hash over a rule's code: for the rules of every cell, whose jobs would else hash each file again."""
    return _sha256(RERUNS[rule])


@cache
def layer_hashes() -> dict[str, str]:
    """Layer -> SHA-256 over the files that make it in this checkout and the versions of the libraries they draw on.

    Read once: what runs is what was loaded, whatever is edited meanwhile.
    """
    return {layer: _sha256(stage) for layer, stage in LAYERS.items()}


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that can move a byte of a score, a table or a figure."""
    names = sorted({name for stage in LAYERS.values() for name in stage.libraries} | {"zstandard"})
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def files_of(stage: StageCode) -> list[str]:
    """The files that a stage's patterns match, relative to the project and sorted."""
    files = {path for pattern in stage.files for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts)


def _sha256(stage: StageCode) -> str:
    files = [[name, sha256_file(ROOT / name)] for name in files_of(stage)]
    return sha256(canonical_json([files, [[name, _version(name)] for name in sorted(set(stage.libraries))]]))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
