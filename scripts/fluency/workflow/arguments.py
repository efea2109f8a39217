"""Commands and their arguments: what a person wrote, as values; a mistake is a sentence and a hint."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fluency import __version__
from fluency.common.errors import UserError

Command = Callable[[argparse.Namespace], int]
Argument = tuple[tuple[str, ...], dict[str, Any]]
STAGES = ("score", "execute")
"""From where on an archive can be replayed."""
COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], Command]] = {}


def command(*arguments: Argument) -> Callable[[Command], Command]:
    """Register a function as a command; its docstring is the help, its name the command's."""

    def register(function: Command) -> Command:
        def add(parser: argparse.ArgumentParser) -> None:
            for names, options in arguments:
                parser.add_argument(*names, **options)

        COMMANDS[function.__name__.rstrip("_")] = (add, function)
        return function

    return register


def argument(*names: str, **options: Any) -> Argument:
    """One argument of a command, as argparse takes it."""
    return names, options


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are a user's errors, like all others."""

    def error(self, message: str) -> NoReturn:
        """UserError instead of a usage line and an exit."""
        raise UserError(message, where=self.prog, hint=f"`{self.prog} --help` shows the form; `make` lists the targets")


def call(arguments: Sequence[str] | None, description: str) -> int:
    """Run the command that a command line names; a user's mistake is one sentence and exit code 2."""
    parser = Parser(prog="fluency", description=description)
    parser.add_argument("--version", action="version", version=__version__)
    chosen = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (add, function) in COMMANDS.items():
        text = (function.__doc__ or "").strip()
        add(chosen.add_parser(name, help=text, description=text))
    try:
        options = parser.parse_args(arguments)
        return COMMANDS[options.command][1](options)
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; what was measured is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def archive_file(text: str) -> Path:
    """An archive that is there."""
    form = "for example ARCHIVE=archive/demo-2026-01-31-0123456789ab.tar.zst"
    if not text.strip():
        raise UserError("no archive is named", where="ARCHIVE", hint=f"name its file, {form}")
    path = Path(text)
    if not path.exists():
        raise UserError("there is no such archive", where=text, hint=f"check the name; it is a file, {form}")
    if not path.is_file():
        raise UserError("this is not an archive but a folder", where=text, hint=f"name the file, {form}")
    return path


def seeds(text: str) -> list[int]:
    """Worlds as whole numbers separated by commas; none for an empty text."""
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UserError(
            "these are not seeds", where=f"SEEDS={text}", hint="write whole numbers, for example SEEDS=11,24"
        ) from None
    if min(numbers, default=0) < 0:
        raise UserError("a seed is not negative", where=f"SEEDS={text}", hint="for example SEEDS=11,24")
    return numbers


def stage(text: str) -> str:
    """From which stage on an archive is replayed."""
    if text not in STAGES:
        raise UserError(
            "there is no such stage to replay", where=f"STAGE={text}", hint="write STAGE=score or STAGE=execute"
        )
    return text


def markdown_file(text: str) -> Path:
    """Where Markdown is to be written; refused before hours are spent on what goes into it."""
    if not text or Path(text).is_dir():
        raise UserError("this is no file to write", where=f"MARKDOWN={text}", hint="name a file: MARKDOWN=replay.md")
    return Path(text)
