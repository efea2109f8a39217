"""The code behind each layer of an archive, as hashes: so that another result is not taken for a forged one."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import ROOT
from fluency.core.stage_code import CODE

SHARED = (
    "scripts/fluency/common/files.py",
    "scripts/fluency/core/cells.py",
    "scripts/fluency/core/records/**/*.py",
    "scripts/fluency/core/study.py",
    "scripts/fluency/core/tasks.py",
    "scripts/fluency/execution/command.py",
    "scripts/fluency/execution/execute.py",
    "scripts/fluency/generation/prompt.py",
)
_SCORE = CODE["score"]
_ANALYSIS = ("scripts/fluency/core/table.py", "scripts/fluency/analysis/**/*.*", *_SCORE)
LAYERS: dict[str, tuple[str, ...]] = {
    "worlds": ("scripts/fluency/world/**/*.*",),
    "request": ("scripts/fluency/generation/**/*.*",),
    "sandbox": (
        "scripts/fluency/execution/sandbox/protocol.py",
        "scripts/fluency/execution/sandbox/image_content.py",
    ),
    "command": (),
    "score": _SCORE,
    "table": CODE["gather"],
    "report": ("scripts/fluency/report/*.*", "report/report.md.j2", "report/sections/**/*.*", *_ANALYSIS),
    "explorer": ("scripts/fluency/report/explorer/**/*.*", "report/explorer*", "report/explorer/**/*.*", *_ANALYSIS),
    "registration": ("scripts/fluency/archive/registration.py", "scripts/fluency/archive/design.py"),
}
"""What each layer is made by, beside SHARED, which is part of all: a change too many makes a difference unproven where
it could be called a contradiction, a change too few the reverse; so what is in doubt is in."""
_GRAMMARS = ("tree-sitter", "tree-sitter-bash")
LIBRARIES: dict[str, tuple[str, ...]] = {
    "score": _GRAMMARS,
    "table": ("pandas",),
    "report": ("jinja2", "matplotlib", "numpy", "pandas", "scipy"),
    "explorer": ("jinja2", "pandas", *_GRAMMARS),
}


@cache
def code_hashes() -> dict[str, str]:
    """Layer -> SHA-256 over the files that make it in this checkout and the versions of the libraries they draw on.

    Read once: what runs is what was loaded, whatever is edited meanwhile.
    """
    return {layer: _hash((*SHARED, *patterns), LIBRARIES.get(layer, ())) for layer, patterns in LAYERS.items()}


def _hash(patterns: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    files = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    kept = [path for path in sorted(files) if "__pycache__" not in path.parts]
    code = [[path.relative_to(ROOT).as_posix(), sha256_file(path)] for path in kept]
    return sha256(canonical_json([code, [[name, _version(name)] for name in libraries]]))


def environment() -> dict[str, str]:
    """The versions of Python and of the libraries that can move a byte of a score, a table or a figure."""
    names = sorted({name for group in LIBRARIES.values() for name in group} | {"pydantic", "zstandard"})
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
