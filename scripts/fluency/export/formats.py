"""The formats there are, and the one way to write any of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.common.terminal import print_lines
from fluency.core.loaded_study import LoadedStudy
from fluency.export.source import Source, archived_source, loaded_source

EXPORTS = ROOT / "exports"


class Writer(Protocol):
    """What a format's module holds."""

    def write(self, source: Source, folder: Path) -> list[Path]:
        """Write a source into an empty folder, and return the files or folders that a person may want to open."""


@dataclass(frozen=True)
class Format:
    """One format. Its module is imported when it is asked for: it may need packages that a run does not."""

    what: str
    module: str
    environment: str = ""
    """The lock in envs/ that has what it needs; empty: that of a run."""


FORMATS: dict[str, Format] = {
    "csv": Format("the cells table with its data dictionary (a Data Package)", "fluency.export.cells_csv"),
    "parquet": Format("the cells table, typed and described", "fluency.export.cells_parquet", "data"),
    "harbor": Format("its tasks as Harbor (Terminal-Bench) task folders, for agents", "fluency.export.harbor_tasks"),
    "inspect": Format("logs of Inspect AI, one a model", "fluency.export.inspect_logs", "interop"),
}
"""By the word after FORMAT=. A format is one module with `write`, and one entry."""


def find_format(name: str) -> Format:
    """The format of a name; UserError if there is none."""
    if name not in FORMATS:
        there_are = "; ".join(f"{known}: {form.what}" for known, form in FORMATS.items())
        raise UserError("there is no such format", where=f"FORMAT={name}", hint=f"there are: {there_are}")
    return FORMATS[name]


def export(name: str, source: Source, into: Path | None = None) -> list[Path]:
    """Write a source in a format, below `exports/` or into a folder of the caller's; what was written.

    UserError where the folder holds something already, or this environment lacks what the format needs.
    """
    form = find_format(name)
    folder = into or EXPORTS / source.name / name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError("there is something already", where=str(folder), hint="remove it, or name another with INTO=")
    writer = cast(Writer, _module(name, form))
    folder.mkdir(parents=True, exist_ok=True)
    return writer.write(source, folder)


def main(name: str, into: Path | None, archive: Path | None, load: Callable[[], LoadedStudy]) -> int:
    """Export an archive, or without one the study that `load` loads, and print what was written."""
    find_format(name)
    with archived_source(archive) if archive else loaded_source(load()) as source:
        print_lines(map(str, export(name, source, into)))
    return 0


def _module(name: str, form: Format) -> object:
    try:
        return import_module(form.module)
    except ModuleNotFoundError as error:
        if not form.environment or (error.name or "").startswith("fluency"):
            raise
        raise UserError(
            f"this environment lacks {error.name}",
            where=f"FORMAT={name}",
            hint=f"`make export FORMAT={name} …` makes the one that has it from envs/{form.environment}.lock",
        ) from None
