"""The command line: `fluency <command>`. What a command does is imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fluency import __version__
from fluency.common.data_file import data_file
from fluency.common.errors import UserError

if TYPE_CHECKING:
    from fluency.core.loaded_study import LoadedStudy


@click.group(no_args_is_help=False, context_settings={"max_content_width": 120})
@click.version_option(__version__)
def fluency() -> None:
    """Measure how fluently models write Bash and PowerShell."""


def archive_file(text: str) -> Path:
    """UserError unless the file is there."""
    path = Path(text)
    if path.is_file():
        return path
    form = "name its file, for example ARCHIVE=archive/demo-2026-01-31-0123456789ab.tar.zst"
    raise UserError("no such archive", where=text or "ARCHIVE", hint=form)


def seed_list(text: str) -> list[int]:
    """The seeds of worlds, separated by commas."""
    parts = text.replace(",", " ").split()
    if not all(map(str.isdecimal, parts)):
        hint = "write whole numbers: SEEDS=11,24"
        raise UserError("these are not seeds", where=f"SEEDS={text}", hint=hint)
    return list(map(int, parts))


def load(_context: click.Context, _option: click.Parameter, files: tuple[str, ...]) -> LoadedStudy:
    """The study of config.yaml and the override files."""
    from fluency.core.loaded_study import LoadedStudy

    return LoadedStudy(None, files)


NAMED: dict[str, Any] = {
    "archive": archive_file,
    "count": click.IntRange(1),
    "path": Path,
    "rest": click.UNPROCESSED,
    "seeds": seed_list,
    "stage": click.Choice(["score", "execute"]),
    "study": load,
}
"""What a parameter's `type` and `callback` in cli.yaml mean."""


def add(calls: str, does: str, example: str, takes: Sequence[dict[str, Any]]) -> None:
    """Add a command of cli.yaml."""
    module, _, function = calls.partition(":")

    def call(**values: Any) -> Any:
        return getattr(import_module(f"fluency.{module}"), function)(**values)

    parameters = [parameter(**form) for form in takes]
    epilog = f"\b\nExample: fluency {example}"
    fluency.add_command(click.Command(example.split()[0], None, call, parameters, does, epilog))


def parameter(names: list[str], **form: Any) -> click.Parameter:
    """An option, or an argument, by its first name."""
    kind = click.Option if names[0].startswith("-") else click.Argument
    named = {key: NAMED[form[key]] for key in ("type", "callback") if key in form}
    return kind(names, **form | named)


for _command in data_file(__file__):
    add(**_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""

    def command() -> int:
        given = sys.argv[1:] if arguments is None else [*arguments]
        with fluency.make_context("fluency", given) as context:
            return int(fluency.invoke(context) or 0)

    return exit_code_of(command)


def exit_code_of(action: Callable[[], int]) -> int:
    """Run an action; a user's mistake, or an unusable file, is one sentence and exit code 2."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal of ASCII gets ? for what it cannot show
        sys.stdout.reconfigure(errors="replace")
    try:
        return action()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "fluency"
        hint = f"`{path} --help` shows the form; `make` lists the targets"
        failure = UserError(error.format_message(), where=path, hint=hint)
    except UserError as error:
        failure = error
    except (KeyboardInterrupt, EOFError):
        print(
            "Interrupted; what was measured is kept: run the same command again to continue.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        what = error.strerror or f"{type(error).__name__}: {error}"
        hint = "check that it is there, is a file or a folder, and may be read and written"
        failure = UserError(what, where=str(error.filename or ""), hint=hint)
    print(f"Error: {failure}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
