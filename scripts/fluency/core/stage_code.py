"""Which code decides each stage, as data: what a rule reruns for, and what an archive's layer is made by.

A test holds it against the imports: the files of a stage are its import closure, less a written list of what cannot
move its answer, and every distribution that the closure imports is among its libraries.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import ROOT

_PACKAGE = "scripts/fluency"
_SETS = "tasks/sets.yaml"
"""Names tasks, and decides no number: the tasks themselves are frozen one by one."""


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
        "common/clock.py",
        "common/errors.py",
        "common/files.py",
        "common/paths.py",
        "common/words.py",
        "core/config_files.py",
        "core/records.py",
        "core/schema.py",
        "core/shells.py",
        "core/study.py",
        "core/task_world.py",
        "core/tasks.py",
        "world/*.*",
    ),
    ("pydantic", "pyyaml", "rfc8785"),
)
_GRAMMAR = StageCode(_package("core/grammar.py"), ("tree-sitter", "tree-sitter-bash", "tree-sitter-pwsh"))
_SCORE = _BASE + _GRAMMAR + StageCode(_package("common/words.py", "scoring/**/*.*"))
_TABLE = _BASE + StageCode(
    _package("core/held_out.py", "core/provenance.py", "core/table.py", "common/git.py"),
    ("pandas",),
)
_ANALYSIS = _TABLE + StageCode(_package("analysis/*.py"), ("numpy", "scipy"))
_REPORT = _ANALYSIS + StageCode(
    (*_package("report/*.py"), "report/report.md.j2", "report/sections/**/*.*", _SETS),
    ("jinja2", "markupsafe", "matplotlib"),
)
_SANDBOX = _BASE + StageCode(_package("execution/image_content.py", "execution/protocol.py"))
_REQUEST = _BASE + StageCode(
    _package("generation/*.py", "generation/providers/*.py", "generation/*.yaml"), ("anthropic", "openai")
)
_COMMAND = (
    _BASE + _GRAMMAR + StageCode(_package("execution/execute.py", "execution/extract.py", "execution/protocol.py"))
)

DECIDES: Mapping[str, StageCode] = {
    "asking": _REQUEST + StageCode(_package("common/words.py", "generation/local_model/*.*"), ("xllamacpp",)),
    "command": _COMMAND,
    "execution": _COMMAND
    + StageCode((*_package("execution/*.py", "common/locks.py", "common/terminal.py"), "sandbox/seccomp/*.*")),
    "scoring": _SCORE,
    "table": _TABLE,
    "analysis": _ANALYSIS,
}
"""Stage -> what decides a number there, from the prompt to the verdict; a registration freezes the hash of each."""

_CONTROL = ("control", "probes", "validate")

LAYERS: Mapping[str, StageCode] = {
    "worlds": _BASE,
    "request": _REQUEST,
    "sandbox": _SANDBOX,
    "command": _COMMAND,
    "score": _SCORE,
    "table": _TABLE,
    "report": _REPORT,
    "explorer": _REPORT
    + _SCORE
    + StageCode((*_package("report/explorer/*.py"), "report/explorer*", "report/explorer/**/*.*")),
    "registration": sum(DECIDES.values(), _SANDBOX)
    + StageCode(
        (
            *_package(
                "archive/registration.py",
                "archive/private_part.py",
                "archive/registration*.py",
                "archive/untrusted_json.py",
            ),
            _SETS,
        )
    ),
    "metadata": _TABLE + StageCode(_package("archive/citation.py", "archive/crate.py")),
}
"""What each layer of an archive is made by. A file too many makes a difference unproven where it could be called a
contradiction, a file too few the reverse; so what is in doubt is in."""

# Not the base: what of it changes an execution stands in the rule's param itself (worlds, limits, needs), and what the
# sandbox image is built from in the image's. The grammar tells which answers a condition is run for.
_EXECUTE = _GRAMMAR + StageCode(
    (
        *_package(
            "execution/execute.py",
            "execution/extract.py",
            "execution/protocol.py",
            "execution/container.py",
            "execution/isolation.py",
        ),
        "sandbox/seccomp/*.*",
    )
)

RERUNS: Mapping[str, StageCode] = {
    "execute": _EXECUTE,
    "score": _SCORE,
    "control": _EXECUTE
    + _SCORE
    + StageCode(
        _package(
            "execution/*.py", "common/locks.py", "common/terminal.py", *(f"validation/{name}.py" for name in _CONTROL)
        )
    ),
    "gather": _TABLE,
    "report": LAYERS["report"] + LAYERS["explorer"],
}
"""What each rule of the Snakefile reruns for."""


@cache
def code_sha256(rule: str) -> str:
    """One hash over a rule's code, made once: the jobs of every cell would else hash each file again."""
    return _sha256(RERUNS[rule])


@cache
def deciding_hashes() -> dict[str, str]:
    """Stage -> SHA-256 over what decides a number there, libraries included."""
    return {stage: _sha256(code) for stage, code in DECIDES.items()}


@cache
def layer_hashes() -> dict[str, str]:
    """Layer -> SHA-256 over the files that make it in this checkout and the versions of the libraries they draw on.

    Read once: what runs is what was loaded, whatever is edited meanwhile.
    """
    return {layer: _sha256(stage) for layer, stage in LAYERS.items()}


def layer_hashes_with(versions: Mapping[str, str]) -> dict[str, str]:
    """The layers' hashes if this checkout's files drew on libraries of the given versions."""
    return {layer: _sha256(stage, lambda name: versions.get(name, "absent")) for layer, stage in LAYERS.items()}


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that can move a byte of a score, a table or a figure."""
    names = sorted({name for stage in LAYERS.values() for name in stage.libraries} | {"zstandard"})
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def files_of(stage: StageCode) -> list[str]:
    """The files that a stage's patterns match, relative to the project and sorted."""
    files = {path for pattern in stage.files for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts)


def _sha256(stage: StageCode, version_of: Callable[[str], str] | None = None) -> str:
    version_of = version_of or _version
    files = [[name, sha256_file(ROOT / name)] for name in files_of(stage)]
    return sha256(canonical_json([files, [[name, version_of(name)] for name in sorted(set(stage.libraries))]]))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
