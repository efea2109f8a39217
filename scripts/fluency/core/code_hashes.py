"""From code to stage: which files and libraries decide what a rule of the Snakefile makes.

A rule's param names the hash of its stage, a registration the hashes of the stages that decide a
number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fluency.common.paths import ROOT
from fluency.common.source_hash import hash_sources, import_closure, library_versions


@dataclass(frozen=True)
class Stage:
    """Entry modules, whose imports count, and files (patterns) and libraries beyond imports."""

    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


STAGES: Mapping[str, Stage] = {
    "image": Stage(("fluency.execution.image_content",)),
    "generate": Stage(
        (
            "fluency.generation.generator",
            "fluency.generation.request",
            "fluency.generation.local_model.server",
            "fluency.generation.local_model.serve",
        ),
        libraries=("anthropic", "openai"),
    ),
    # What reads reply and result. A list, else every edit of core would redo all executions: what
    # the engine and the runner are handed is in the rule's params (workflow/rerun_keys.py).
    "execute": Stage(
        files=(
            "scripts/fluency/execution/execute.py",
            "scripts/fluency/execution/extract.py",
            "scripts/fluency/execution/protocol.py",
            "scripts/fluency/execution/container.py",
            "scripts/fluency/core/grammar.py",
            "scripts/fluency/core/dialects/*.py",
            "scripts/fluency/core/reply_marks.*",
        ),
        libraries=("tree-sitter", "tree-sitter-bash", "tree-sitter-pwsh"),
    ),
    "score": Stage(("fluency.core.task_world", "fluency.scoring.score_cell")),
    "control": Stage(("fluency.validation.control",)),
    "gather": Stage(("fluency.core.table", "fluency.core.provenance")),
    "analyse": Stage(("fluency.analysis.study_analysis",)),
    "report": Stage(
        ("fluency.report.report",),
        ("report/**/*", "tasks/sets.yaml"),
    ),
    "archive": Stage(("fluency.archive.pack", "fluency.registration")),
}
FROZEN = ("generate", "execute", "score", "gather", "analyse")
"""The stages that decide a number; a registration freezes their hashes."""
_WITHOUT = ("fluency", "fluency.common.locks", "fluency.common.terminal", "docker", "requests")
"""Excluded because they change no result: version, locks, terminal output, transport."""


@cache
def code_sha256(stage: str) -> str:
    """The hash of a stage's code, made once a process: what runs is what was loaded."""
    files, libraries = sources(stage)
    return hash_sources(files, library_versions(libraries))


def sources(stage: str, root: Path = ROOT) -> tuple[set[str], set[str]]:
    """The files, relative to the project in `root`, and the libraries that decide a stage."""
    made = STAGES[stage]
    files, libraries = import_closure(made.modules, _WITHOUT, root)
    names = {
        path.relative_to(root).as_posix()
        for pattern in made.files
        for path in root.glob(pattern)
        if path.is_file()
    }
    return files | names, libraries | set(made.libraries)
