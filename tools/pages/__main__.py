"""`make pages` writes every page that is made from code; `make lint` compares (`--check`)."""

from __future__ import annotations

import argparse
import sys

from fluency.cli import exit_code_of
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from tools import seccomp_profile
from tools.pages import archive, commands, config, example, schemas, tasks

MAKERS = (
    commands.pages,
    config.pages,
    schemas.pages,
    tasks.pages,
    seccomp_profile.pages,
    example.pages,
    archive.pages,
)
"""Each returns path, relative to the project -> the text it must have."""
WHOLE_FOLDERS = ("docs/schemas", "example/figures")
"""Folders in which every file is made here."""


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or with `--check` name those that differ and return 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the pages that differ")
    parser.add_argument("--pictures", action="store_true", help="take the example's pictures")
    options = parser.parse_args(arguments)
    if options.pictures:
        example.take_pictures()
        return 0
    made = {name: text for maker in MAKERS for name, text in maker().items()}
    paths = {ROOT / name for name in made}
    paths |= {path for folder in WHOLE_FOLDERS for path in (ROOT / folder).glob("*")}
    there = {
        str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths if path.is_file()
    }
    differ = sorted({name for name, _ in there.items() ^ made.items()})
    if options.check and differ:
        said = [f"{name} is not what the present code writes" for name in differ]
        print(*said, "Hint: make pages", sep="\n", file=sys.stderr)
        return 1
    for name in differ:
        if name in made:
            write_atomic(ROOT / name, made[name])
        else:
            (ROOT / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
