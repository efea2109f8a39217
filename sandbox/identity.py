"""What is run in here, by its content: the runner, what it was compiled to, the helper, the shells."""

from __future__ import annotations

import hashlib
import os

from processes import HELPER

RUNNER = os.path.dirname(os.path.abspath(__file__))
SHELLS = "/opt/tools"
# A shell whose program stands below here has the folder to itself: all of it is the shell.
OWN_FOLDERS = "/opt/"


def digests() -> dict[str, str]:
    """Part -> SHA-256 over the names and contents of its files: runner, interpreter, helper, and each shell."""
    sources = [os.path.join(RUNNER, name) for name in os.listdir(RUNNER) if name.endswith(".py")]
    interpreter = [os.path.join(RUNNER, "python3"), *_below(os.path.join(RUNNER, "__pycache__"))]
    parts = {"runner": sources, "interpreter": interpreter, "helper": [HELPER]}
    for shell in os.listdir(SHELLS):
        for name in os.listdir(f"{SHELLS}/{shell}") if shell != "bin" else ():
            program = os.path.realpath(f"{SHELLS}/{shell}/{name}")
            parts[shell] = _below(os.path.dirname(program)) if program.startswith(OWN_FOLDERS) else [program]
    return {part: digest(files) for part, files in sorted(parts.items())}


def digest(files: list[str]) -> str:
    """SHA-256 over `<SHA-256 of the content>  <name>` of each file, a line each, sorted."""
    lines = sorted(f"{_sha256(path)}  {os.path.basename(path)}\n" for path in files)
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _below(folder: str) -> list[str]:
    return [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]


def _sha256(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
