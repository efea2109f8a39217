"""From code to stage: which files and libraries decide what a rule of the Snakefile makes.

A rule's param names the hash of its stage, a registration the hashes of the stages that decide a
number.
"""

from functools import cache

from fluency.common.data_file import data_file
from fluency.common.paths import ROOT
from fluency.common.source_hash import hash_sources, import_closure, library_versions

STAGES: dict[str, dict[str, list[str]]] = data_file(__file__)
"""Stage -> its `modules`, `files` and `libraries`."""
FROZEN = ("generate", "execute", "score", "gather", "analyse")
"""The stages that decide a number; a registration freezes their hashes."""
_WITHOUT = ("fluency", "fluency.common.locks", "fluency.common.terminal", "docker", "requests")
"""Excluded because they change no result: version, locks, terminal output, transport."""


@cache
def code_sha256(stage: str) -> str:
    """The hash of a stage's code, made once a process: what runs is what was loaded."""
    files, libraries = sources(stage)
    return hash_sources(files, library_versions(libraries))


def sources(stage: str) -> tuple[set[str], set[str]]:
    """The files, relative to the project, and the libraries that decide a stage."""
    made = STAGES[stage]
    files, libraries = import_closure(made.get("modules", ()), _WITHOUT)
    names = {
        path.relative_to(ROOT).as_posix()
        for pattern in made.get("files", ())
        for path in ROOT.glob(pattern)
        if path.is_file()
    }
    return files | names, libraries | {*made.get("libraries", ())}
