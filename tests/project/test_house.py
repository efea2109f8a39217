"""Rules that no linter knows, the hashes of the stages, the script that runs first."""

import ast
import importlib
import pkgutil
import re
import shutil
from pathlib import Path

import grimp
import pytest

from fluency.common import source_hash
from fluency.common.paths import ROOT
from fluency.core import code_hashes
from tests.programs import completed

PACKAGE = Path(__file__).resolve().parents[2] / "scripts/fluency"
MODULES = sorted(PACKAGE.rglob("*.py"))

NAMES_SHELLS = {
    "core/shells.py": "the facts on each shell",
    "core/grammar.py": "the names of the dialects",
    "core/dialects/powershell.py": "PowerShell's own words",
    "scoring/commands.py": "the two dialects",
    "miner/transcripts.py": "other programs' words for their tools",
}
"""The only modules that may say which shell they mean."""


def literals(path):
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def test_only_named_modules_say_which_shell_they_mean():
    said = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in MODULES
        for line, text in literals(path)
        if re.fullmatch(r"bash|pwsh", text)
        and path.relative_to(PACKAGE).as_posix() not in NAMES_SHELLS
    ]
    assert said == []


def test_imports_of_tests_and_tools_name_what_exists():
    """Also where only a slow run, or another environment's Python, imports it."""
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("tools/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            if module.split(".")[0] in ("fluency", "tests", "tools"):
                for name in node.names:
                    pkgutil.resolve_name(f"{module}.{name.name}")


def test_imports_have_no_cycles():
    """Imports for types alone count too."""
    graph = grimp.build_graph("fluency", cache_dir=None)
    cycles = [
        (one, two)
        for one in graph.modules
        for two in graph.find_modules_directly_imported_by(one)
        if one != two and graph.chain_exists(importer=two, imported=one)
    ]
    assert cycles == []


def test_architecture_page_names_functions_that_exist():
    page = (PACKAGE.parents[1] / "docs/architecture.md").read_text()
    functions = re.findall(
        r"`((?:\w+\.)+\w+)`", "".join(line for line in page.splitlines() if "→" in line)
    )
    assert len(functions) > 20
    for name in set(functions):
        assert callable(pkgutil.resolve_name(f"fluency.{name}")), name


OVERRIDES = {
    "fluency.core.config_files._Loader.construct_mapping": (
        "core/test_config.py::test_read_study_refuses_file_of_other_content"
    ),
    "fluency.core.described.Described.model_schema": (
        "export/test_export.py::test_export_writes_table_and_dictionary"
    ),
    "fluency.execution.engine.Client._set_auth_headers": (
        "execution/test_engine.py::test_run_build_without_the_helper_of_a_credential_store"
    ),
    "fluency.execution.engine.Client.send": (
        "execution/test_failures.py::test_container_after_sigkill_ends_at_its_deadline"
    ),
    "snakemake_logger_plugin_fluency.LogHandler.close": (
        "workflow/test_progress.py::test_snakemake_passes_events_and_the_end_to_the_display"
    ),
    "snakemake_logger_plugin_fluency.LogHandler.emit": (
        "workflow/test_progress.py::test_snakemake_passes_events_and_the_end_to_the_display"
    ),
    "snakemake_scheduler_plugin_fluency.Scheduler.select_jobs": (
        "workflow/test_scheduler.py::test_waiting_for_answers_polls_no_jobs"
    ),
}
"""Each method of a library's class that ours replace -> a test that fails if it is never called."""


def test_overrides_of_library_methods_are_those_with_a_test():
    """A new version of the library may call another method, and nothing would tell."""
    scripts = [str(PACKAGE.parent)]
    ours = tuple(found.name for found in pkgutil.iter_modules(scripts))
    names = [found.name for found in pkgutil.walk_packages(scripts)]
    classes = {
        kind
        for name in names
        for kind in vars(importlib.import_module(name)).values()
        if isinstance(kind, type) and kind.__module__.startswith(ours)
    }
    found = {
        f"{kind.__module__}.{kind.__qualname__}.{name}"
        for kind in classes
        for base in kind.__mro__[1:-1]
        for name in vars(kind).keys() & vars(base).keys()
        if not base.__module__.startswith(ours) and not name.startswith("__")
        if getattr(getattr(kind, name), "__module__", "") == kind.__module__
    }
    assert found == OVERRIDES.keys()
    for place in OVERRIDES.values():
        path, _, name = place.partition("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text(), place


OLD = {"python3": "[ $1 = --version ] && echo Python 3.10.2"}
NEW = {"python3": "case $* in --version) echo Python 3.14.0;; *CC*) echo false;; esac"}


@pytest.mark.parametrize(
    "programs, says",
    [
        ({"uname": "echo Darwin"}, "this runs on Linux, and here is Darwin"),
        ({}, "Python 3.11 to 3.14 is needed, and python3 is missing"),
        (OLD, "Python 3.11 to 3.14 is needed, and python3 here is 3.10.2"),
        (NEW, "Python 3.14.0 needs a C compiler and Python's header files"),
    ],
)
def test_bootstrap_names_what_is_unsuitable(tmp_path, programs, says):
    """On a machine with these programs, without apt-get."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    script = shutil.copy(ROOT / "scripts/bootstrap.sh", tmp_path / "scripts")
    (tmp_path / "envs").symlink_to(ROOT / "envs")
    for name in ("bash", "dirname", "id", "sed", "uname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    for name, text in programs.items():
        (tmp_path / "bin" / name).unlink(missing_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    done = completed(script, code=2, env={"PATH": str(tmp_path / "bin")})
    assert not (tmp_path / ".venv").exists()
    assert f"Error: {says}" in done.stderr and "\nHint: " in done.stderr


CHANGES = {
    "scripts/fluency/world/names.yaml": {"score"},
    "scripts/fluency/core/grammar.py": {"execute", "score"},
    "scripts/fluency/scoring/data/verbs.txt": {"score"},
    "scripts/fluency/core/schema.py": {"generate", "score", "gather", "analyse"},
    "scripts/fluency/execution/protocol.py": {"execute"},
    "scripts/fluency/execution/sandbox.py": set(),
    "scripts/fluency/workflow/pipeline.py": set(),
    "scripts/fluency/__init__.py": set(),
}
"""File -> the stages, of those that decide a number, whose hash its change changes."""


def hashes(versions=None):
    """Stage -> hash of the project, with libraries of other versions."""
    found = {}
    for stage in code_hashes.STAGES:
        files, libraries = code_hashes.sources(stage)
        used = source_hash.library_versions(libraries)
        used |= {name: version for name, version in (versions or {}).items() if name in used}
        found[stage] = source_hash.hash_sources(files, used)
    return found


def test_code_hashes_change_with_imported_files(tmp_path, monkeypatch):
    monkeypatch.setattr(code_hashes, "ROOT", tmp_path)
    monkeypatch.setattr(source_hash, "ROOT", tmp_path)
    for folder in ("scripts/fluency", "sandbox", "report"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    before = hashes()
    left = tmp_path / "scripts/fluency/scoring/an_earlier_package/__pycache__"
    left.mkdir(parents=True)
    (left / "module.cpython-311.pyc").write_bytes(b"compiled")
    assert hashes() == before
    for name, stages in CHANGES.items():
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(whole + b"\n# another line\n")
        now = hashes()
        path.write_bytes(whole)
        assert {stage for stage in code_hashes.FROZEN if now[stage] != before[stage]} == stages, (
            name
        )


def test_stages_cover_rules_and_name_modules_that_exist():
    rules = set(re.findall(r"^rule (\w+):", (ROOT / "Snakefile").read_text(), re.MULTILINE))
    assert rules - {"all", "image"} <= code_hashes.STAGES.keys()  # its params name its sources
    for name, stage in code_hashes.STAGES.items():
        files, _ = code_hashes.sources(name)
        for module in stage.get("modules", ()):
            path = f"scripts/{module.replace('.', '/')}"
            assert {f"{path}.py", f"{path}/__init__.py"} & files, f"{name}: {module} does not exist"
        for pattern in stage.get("files", ()):
            assert any(ROOT.glob(pattern)), f"{name}: {pattern} matches nothing"


def test_code_hashes_change_with_library_versions():
    libraries = {name for stage in code_hashes.STAGES for name in code_hashes.sources(stage)[1]}
    versions = source_hash.library_versions(libraries)
    assert "absent" not in versions.values()
    assert {"xllamacpp", "anthropic", "scipy", "jinja2", "pyyaml"} <= versions.keys()
    other = hashes(versions=versions | {"tree-sitter-pwsh": "9"})
    same = hashes(versions=versions)
    assert same == {stage: code_hashes.code_sha256(stage) for stage in code_hashes.STAGES}
    changed = {stage for stage in same if same[stage] != other[stage]}
    assert changed == {"execute", "score", "control", "report"}


IMPORTS = '''
if TYPE_CHECKING:
    from only import types

from a.b import table, tasks
import yaml, os.path as p  # type: ignore[import]
TEXT = """
import runner
"""

def f():
    from c.d import (
        e,  # why
        f as g,
    )
'''


def test_imported_reads_import_statements():
    imported = {"a.b", "a.b.table", "a.b.tasks", "yaml", "os.path", "c.d", "c.d.e", "c.d.f"}
    assert source_hash._imported(IMPORTS) == imported
