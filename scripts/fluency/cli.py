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
    raise UserError("there is no such archive", where=text or "ARCHIVE", hint=form)


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


OVERRIDES: dict[str, Any] = {"multiple": True, "metavar": "FILE"}
OVERRIDES["help"] = "Override file, may be repeated."
STUDY = click.Option(["--configfile", "loaded"], callback=load, **OVERRIDES)
ARCHIVE = click.Argument(["archive"], default="", type=archive_file)
INTO = click.Option(["--into"], type=Path, metavar="FOLDER", help="The folder to write to.")

TARGETS: dict[str, str] = {}
"""Command -> the function that it calls with its parameters, as `module:function`."""


def add(target: str, text: str, shown: str, *parameters: click.Parameter) -> None:
    """Add a command; its parameters have the names of the called function's.

    Args:
        target: the function, as `module:function`.
        text: what the command does.
        shown: an example, which begins with the command's name.
    """
    module, _, function = target.partition(":")
    name = shown.split()[0]

    def call(**values: Any) -> Any:
        return getattr(import_module(f"fluency.{module}"), function)(**values)

    TARGETS[name] = target
    command = click.Command(name, callback=call, help=text, epilog=f"\b\nExample: fluency {shown}")
    command.params.extend(parameters)
    fluency.add_command(command)


add(
    "workflow.run:run_study",
    "Measure a study, from its price to its headline; what follows `--` is passed to Snakemake.",
    "run --configfile config/demo.yaml",
    STUDY,
    click.Option(
        ["--on"],
        default="",
        metavar="PROFILE",
        help="Run the containers on a cluster: profiles/PROFILE.",
    ),
    click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED, metavar="[SNAKEMAKE]..."),
)
add(
    "workflow.run_plan:print_plan",
    "Show what a run would do and why, what it costs, and what is missing.",
    "plan --configfile config/study.yaml",
    STUDY,
)
add(
    "workflow.ask_one:ask_one",
    "Ask a model one cell and show request, reply, readings, usage and price; nothing is stored.",
    "ask-one qwen-0.5b --configfile config/study.yaml",
    STUDY,
    click.Argument(["model"], default=""),
)
add(
    "workflow.pipeline:write_partial_report",
    "Write the report of a study as far as it is measured.",
    "report --configfile config/study.yaml",
    STUDY,
)
add(
    "execution.image:main",
    "Build the sandbox image, starting a container engine where that is possible.",
    "image",
)
add("workflow.doctor:main", "Show what this machine has, lacks, and what that prevents.", "doctor")
add(
    "validation.validate:main",
    "Prove the tasks fair in the sandbox; exit code 1: unsound, 3: not all was measured.",
    "validate --task tree-size-bytes --seeds 11,24",
    click.Option(
        ["--task", "task_ids"],
        multiple=True,
        metavar="ID",
        help="A task, may be repeated; else all.",
    ),
    click.Option(
        ["--seeds"], type=seed_list, default="", metavar="A,B", help="Worlds, an odd and an even."
    ),
)
add(
    "validation.new_task:main",
    "Begin a task, from a candidate or empty, and list what it still lacks.",
    "new-task --name my-task --snapshot",
    click.Option(
        ["--from", "candidate"], type=Path, metavar="FILE", help="A candidate of `make mine`."
    ),
    click.Option(["--name"], default="", metavar="ID", help="The task's id."),
    click.Option(["--snapshot"], is_flag=True, help="Folders of files in place of Python."),
)
add(
    "archive.verify:compare_studies",
    "Compare two studies task by task, each a name, a folder, a cells.csv or an archive.",
    "compare demo default > difference.md",
    *(click.Argument([name], default="") for name in "ab"),
)
add(
    "report.power:main",
    "Show what gap this design, or a larger one, could detect.",
    "power --configfile config/study-60.yaml",
    click.Option(
        ["--configfile", "study"], callback=lambda *given: load(*given).study, **OVERRIDES
    ),
)
add("generation.audit:main", "List and verify the answer store.", "answers")
add(
    "registration:register",
    "Freeze tasks, seeds, models and analysis plan before a study.",
    'preregister --configfile config/study.yaml --decision "which shell our prompts name"',
    STUDY,
    click.Option(["--decision"], default="", help="The decision the study is for."),
)
PACKED = "archive/demo-2026-01-31-0123456789ab.tar.zst"
add(
    "archive.verify:verify",
    "Check an archive's evidence and judge every execution again, offline.",
    f"verify {PACKED}",
    ARCHIVE,
    click.Option(
        ["--record"], type=Path, metavar="FILE", help="The decision record that is based on it."
    ),
)
add(
    "archive.verify:open_archive",
    "Verify an archive, make its report and explorer again, and open them.",
    f"open {PACKED} --into demo",
    ARCHIVE,
    INTO,
    click.Option(["--verbose"], is_flag=True, help="Print the whole verification."),
)
add(
    "archive.replay:replay",
    "Score an archive's answers again, or run them again first, and print what differs.",
    f"replay {PACKED} --stage execute",
    ARCHIVE,
    click.Option(
        ["--stage"],
        type=click.Choice(["score", "execute"]),
        default="score",
        help="The first stage that is repeated.",
    ),
    click.Option(
        ["--sample"], type=click.IntRange(1), metavar="N", help="Execute N random cells only."
    ),
)
add(
    "archive.decision:write_decision_record",
    "Write a decision record from an archive.",
    f'decision {PACKED} --title "Keep the prompts"',
    ARCHIVE,
    click.Option(["--title"], default="", help="Title of the decision."),
)
add(
    "miner.mine:main",
    "Find task candidates in your own agent transcripts; nothing leaves the machine.",
    "mine ~/.claude/projects --out candidates",
    click.Argument(["logs"], nargs=-1, required=True, type=Path),
    click.Option(
        ["--out"],
        type=Path,
        default=Path("candidates"),
        metavar="FOLDER",
        help="The folder to write to.",
    ),
)


add(
    "report.show:main",
    "Show one cell (model/shell/task/trial): prompt, reply, command, worlds, times, verdict.",
    "show qwen-0.5b/bash/biggest-file/1 --full",
    click.Argument(["cell"], default=""),
    click.Option(["--full"], is_flag=True, help="Show the provenance and the records' paths too."),
)
add(
    "archive.verify:make_verified_archive",
    "Pack a study into one file and verify it; nothing is asked or run.",
    "archive --configfile config/demo.yaml",
    STUDY,
    click.Option(["--partial"], is_flag=True, help="Pack an unfinished study."),
    click.Option(["--image"], is_flag=True, help="Add the sandbox image."),
)
add(
    "export:main",
    "Write a study from results/, or from an archive, in another program's format.",
    "export --format csv --configfile config/demo.yaml",
    INTO,
    click.Option(["--format", "name"], default="", metavar="NAME", help="The format."),
    click.Option(
        ["--archive"],
        type=archive_file,
        metavar="FILE",
        help="Export this archive, not the configured study.",
    ),
    click.Option(["--configfile", "files"], **OVERRIDES),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""

    def command() -> int:
        given = list(sys.argv[1:] if arguments is None else arguments)
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
