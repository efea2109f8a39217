"""The files and libraries that modules depend on, by their imports, and a hash over them."""

import ast
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fluency.common.canonical import canonical_sha256
from fluency.common.files import sha256_file
from fluency.common.paths import ROOT

_DISTRIBUTIONS = {"yaml": "pyyaml", "markdown_it": "markdown-it-py"}
"""Module -> distribution, where the name differs by more than `_` and `-`."""


def import_closure(modules: Iterable[str], without: Collection[str]) -> tuple[set[str], set[str]]:
    """The files, relative to the project, and the libraries that modules import, directly or not.

    The data files of a module's package count, too; imports for types only do not.

    Args:
        modules: their dotted names.
        without: modules and libraries that are left out, with what only they import.
    """
    files = set[Path]()
    libraries = set[str]()
    seen, ahead = set(without), list(modules)
    while ahead:
        module = ahead.pop()
        if module in seen:
            continue
        seen.add(module)
        package = module.partition(".")[0]
        if path := _file_of(module):
            files.add(path)
            ahead += [
                *_imported(path.read_text(encoding="utf-8")),
                *([module.rpartition(".")[0]] if "." in module else []),
            ]
        elif package not in {"fluency", *without, *sys.stdlib_module_names}:
            libraries.add(_DISTRIBUTIONS.get(package, package.replace("_", "-")))
    files.update(*map(_data_in, {path.parent for path in files}))
    return {path.relative_to(ROOT).as_posix() for path in files}, libraries


def hash_sources(files: Iterable[str], libraries: Mapping[str, str]) -> str:
    """SHA-256 over the content of files, relative to the project, and the versions of libraries."""
    hashes = [[name, sha256_file(ROOT / name)] for name in sorted(files)]
    return canonical_sha256([hashes, sorted(libraries.items())])


def library_versions(names: Iterable[str]) -> dict[str, str]:
    """Library -> its installed version, or "absent"."""
    return {name: _version(name) for name in sorted(names)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _file_of(module: str) -> Path | None:
    path = ROOT.joinpath("scripts", *module.split("."))
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None
    )


def _data_in(package: Path) -> set[Path]:
    """Files that are not Python in a package's folder and in its `data` folder."""
    found = [*package.glob("[!.]*"), *package.glob("data/[!.]*")]
    return {file for file in found if file.is_file() and file.suffix != ".py"}


@cache
def _imported(source: str) -> set[str]:
    """The modules that a file's text may import: of `from a import b` both `a` and `a.b`."""
    found, ahead = set[str](), list[ast.AST]([ast.parse(source)])
    while ahead:
        match node := ahead.pop():
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                ahead += node.orelse
            case ast.expr():  # has no import
                pass
            case _:
                ahead += ast.iter_child_nodes(node)
    return found
