"""The code behind each layer of an archive, as hashes: so that another result is not taken for a forged one."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from fluency.files import canonical_json, sha256, sha256_file
from fluency.paths import ROOT

LAYERS: dict[str, tuple[str, ...]] = {
    "worlds": ("scripts/fluency/world/**/*.*",),
    "request": ("scripts/fluency/prompt.py", "scripts/fluency/generation/**/*.*"),
    "command": ("scripts/fluency/command.py", "scripts/fluency/execute.py"),
    "score": ("scripts/fluency/score.py", "scripts/fluency/checks/**/*.*", "scripts/fluency/world/**/*.*"),
    "table": ("scripts/fluency/gather.py", "scripts/fluency/table.py"),
    "report": ("scripts/fluency/report/**/*.*", "scripts/fluency/analysis/**/*.*", "report/*.md.j2"),
    "explorer": ("scripts/fluency/explorer/**/*.*", "report/explorer*", "report/explorer/**/*.*"),
}
_PACKAGES = ("jinja2", "matplotlib", "numpy", "pandas", "pydantic", "scipy", "tree-sitter", "zstandard")


def code_hashes() -> dict[str, str]:
    """Layer -> SHA-256 over the names and bytes of the files that make it, in this checkout."""
    return {layer: _hash(patterns) for layer, patterns in LAYERS.items()}


def _hash(patterns: tuple[str, ...]) -> str:
    files = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    kept = [path for path in sorted(files) if "__pycache__" not in path.parts]
    return sha256(canonical_json([[path.relative_to(ROOT).as_posix(), sha256_file(path)] for path in kept]))


def environment() -> dict[str, str]:
    """The versions of Python and of the packages that can move a byte of the report."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
