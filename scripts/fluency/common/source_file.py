"""Python that a task brings along: one file, run as a module of its own."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType


def run_source(path: Path) -> ModuleType:
    """The module that a file's source makes; whatever its code raises comes through."""
    module = ModuleType(f"{path.parent.name}.{path.stem}")
    module.__file__ = str(path)
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module
