"""The rules of the house that no linter knows."""

import ast
import pkgutil
import re
from pathlib import Path

import grimp
import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "scripts" / "fluency"
MODULES = sorted(PACKAGE.rglob("*.py"))

NAMES_SHELLS = {
    "core/shells.py": "where a shell's facts stand",
    "core/grammar.py": "the two grammars",
    "scoring/commands.py": "the two dialects",
    "execution/powershell.py": "PowerShell's own image code",
    "miner/transcripts.py": "other programs' words for their tools",
}
"""The only modules that may say which shell they mean."""


def literals(path):
    """Strings of a module that are no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_only_the_named_modules_say_which_shell_they_mean(path):
    if path.relative_to(PACKAGE).as_posix() in NAMES_SHELLS:
        return
    said = [(line, text) for line, text in literals(path) if re.fullmatch(r"bash|pwsh", text)]
    assert said == []


def test_no_circle_ties_modules_together():
    """Also not by imports for types alone."""
    graph = grimp.build_graph("fluency", cache_dir=None)
    circles = [
        (one, two)
        for one in graph.modules
        for two in graph.find_modules_directly_imported_by(one)
        if one != two and graph.chain_exists(importer=two, imported=one)
    ]
    assert circles == []


def test_every_ignored_type_names_its_error_and_its_reason():
    bare = [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "type: ignore" in line and not re.search(r"type: ignore\[[a-z-]+\]  # \S", line)
    ]
    assert bare == []


def test_the_page_on_architecture_names_what_is_there():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w/]+\.py)`", page)) - {"__init__.py"}
    assert {name for name in files if not (PACKAGE / name).is_file()} == set()
    functions = re.findall(r"`((?:\w+\.)+\w+)`", "".join(line for line in page.splitlines() if "→" in line))
    assert len(functions) > 20
    for name in set(functions):
        assert callable(pkgutil.resolve_name(f"fluency.{name}")), name
