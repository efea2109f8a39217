"""The command line: `fluency <command>`. Each command imports what it needs when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import click

from fluency import __version__
from fluency.common.errors import UserError


def archive_file(text: str) -> Path:
    """An archive that is there."""
    path = Path(text)
    if path.is_file():
        return path
    named = "this is not an archive but a folder" if path.is_dir() else "there is no such archive"
    form = "name its file, for example ARCHIVE=archive/demo-2026-01-31-0123456789ab.tar.zst"
    raise UserError(named if text.strip() else "no archive is named", where=text or "ARCHIVE", hint=form)


def seed_list(text: str) -> list[int]:
    """Seeds of worlds, separated by commas; none for an empty text."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise UserError("these are not seeds", where=f"SEEDS={text}", hint="write whole numbers: SEEDS=11,24")
    return list(map(int, parts))


CONFIG = click.option("--configfile", "files", multiple=True, metavar="FILE", help="Override file, may be repeated.")
ARCHIVE = click.argument("archive", default="", type=archive_file)
INTO = click.option("--into", type=Path, metavar="FOLDER", help="The folder to write to.")
FILE = click.Path(dir_okay=False, path_type=Path)
MARKDOWN = click.option("--markdown", type=FILE, metavar="FILE", help="Write it to this file, too.")


@click.group(no_args_is_help=False, context_settings={"max_content_width": 120})
@click.version_option(__version__)
def fluency() -> None:
    """Measure how fluently models write Bash and PowerShell."""


@fluency.command()
@CONFIG
@click.option("--on", default="", metavar="PROFILE", help="Run what needs containers on a cluster: profiles/PROFILE.")
@click.argument("snakemake", nargs=-1, type=click.UNPROCESSED)
def run(files: tuple[str, ...], on: str, snakemake: tuple[str, ...]) -> int:
    """Measure a study, from its price to its headline; what follows `--` is passed to Snakemake."""
    from fluency.core.loaded_study import load_study
    from fluency.workflow.run import run_study

    return run_study(load_study(files), snakemake, on)


@fluency.command()
@CONFIG
def plan(files: tuple[str, ...]) -> int:
    """Show what a run would do and why, what it costs, and what is missing."""
    from fluency.core.loaded_study import load_study
    from fluency.workflow.plan import print_plan

    return print_plan(load_study(files))


@fluency.command()
@CONFIG
def report(files: tuple[str, ...]) -> int:
    """Write the report of what there is, also of an unfinished study."""
    from fluency.core.loaded_study import load_study
    from fluency.workflow.pipeline import write_partial_report

    return write_partial_report(load_study(files))


@fluency.command()
def image() -> int:
    """Build the sandbox image, starting a container engine where that is possible."""
    from fluency.execution.image import main as build

    return build()


@fluency.command()
def doctor() -> int:
    """Show what this machine has, lacks, and what that prevents."""
    from fluency.workflow.doctor import main as examine

    return examine()


@fluency.command()
@click.option("--task", "tasks", multiple=True, metavar="ID", help="A task, may be repeated; else all.")
@click.option("--seeds", type=seed_list, default="", metavar="A,B", help="Worlds, at least one odd and one even.")
def validate(tasks: tuple[str, ...], seeds: list[int]) -> int:
    """Prove the tasks fair in the sandbox; exit code 1 if one is unsound."""
    from fluency.validation.validate import main as prove

    return prove(list(tasks), seeds)


@fluency.command()
@click.argument("cell", default="")
def show(cell: str) -> int:
    """Show one cell (model/shell/task/trial): prompt, reply, command, both worlds, times."""
    from fluency.common.paths import RESULTS
    from fluency.core.study import Cell
    from fluency.report.show import show as show_cell

    show_cell(Cell.parse(cell), RESULTS)
    return 0


@fluency.command()
@click.argument("a", default="")
@click.argument("b", default="")
@MARKDOWN
def compare(a: str, b: str, markdown: Path | None) -> int:
    """Compare two studies task by task."""
    from fluency.report.compare.comparison_page import main as compare_studies

    for name, given in (("A", a), ("B", b)):
        if not given:
            raise UserError("no study is named", where=name, hint="name two studies: make compare A=demo B=other")
    return compare_studies(a, b, markdown)


@fluency.command()
@CONFIG
def power(files: tuple[str, ...]) -> int:
    """Show what gap this design, or a larger one, could detect."""
    from fluency.analysis.power import main as tabulate
    from fluency.core.loaded_study import load_study

    return tabulate(load_study(files).study)


@fluency.command()
@click.option("--merge", type=Path, metavar="FOLDER", help="Take over the answers of another store.")
def answers(merge: Path | None) -> int:
    """List and verify the answer store."""
    from fluency.generation.audit import main as audit

    return audit(merge)


@fluency.command()
@CONFIG
@click.option("--decision", default="", help="The decision the study is for.")
def preregister(files: tuple[str, ...], decision: str) -> int:
    """Freeze tasks, seeds, models and analysis plan before a study."""
    from fluency.archive.commands import preregister as freeze
    from fluency.core.loaded_study import load_study

    return freeze(load_study(files), decision)


@fluency.command()
@click.option("--study", default="", metavar="NAME", help="Draw its seeds and commit to them.")
@click.option("--reveal", type=Path, metavar="FILE", help="A file that a commitment has left.")
def seeds(study: str, reveal: Path | None) -> int:
    """Commit to the seeds of a study's worlds, and reveal them after it."""
    from fluency.validation.seeds import commit
    from fluency.validation.seeds import reveal as show_seeds

    if bool(study) == bool(reveal):
        raise UserError(
            "name a study or a file", where="seeds", hint="STUDY=name commits, REVEAL=sealed/name.yaml reveals"
        )
    if reveal:
        show_seeds(reveal)
    else:
        commit(study)
    return 0


@fluency.command()
@CONFIG
@click.option("--partial", is_flag=True, help="Pack what there is.")
@click.option("--image", is_flag=True, help="With the sandbox image.")
@click.option("--with-private", is_flag=True, help="Keep private tasks in: not to be published.")
def archive(files: tuple[str, ...], partial: bool, image: bool, with_private: bool) -> int:
    """Bring a study up to date and pack its decision record."""
    from fluency.archive.commands import pack_study
    from fluency.core.loaded_study import load_study
    from fluency.workflow.run import run_study

    loaded = load_study(files)
    if not partial and (code := run_study(loaded)):
        return code
    print(pack_study(loaded, partial=partial, image=image, with_private=with_private))
    return 0


@fluency.command()
@ARCHIVE
@click.option("--private", type=archive_file, metavar="FILE", help="The part that holds its private tasks.")
def verify(archive: Path, private: Path | None) -> int:
    """Check an archive and rebuild its report from the records, offline."""
    from fluency.archive.commands import verify as check

    return check(archive, private)


@fluency.command("open")
@ARCHIVE
@INTO
@click.option("--verbose", is_flag=True, help="Print the whole verification.")
def open_(archive: Path, into: Path | None, verbose: bool) -> int:
    """Verify an archive, and open its report and explorer as this checkout writes them."""
    from fluency.archive.commands import open_archive

    return open_archive(archive, into, verbose=verbose)


@fluency.command()
@ARCHIVE
@click.option("--stage", type=click.Choice(["score", "execute"]), default="score", help="From which stage on.")
@click.option("--allow", default="", metavar="LIMIT,LIMIT", help="Limits above this checkout's.")
@MARKDOWN
def replay(archive: Path, stage: Literal["score", "execute"], allow: str, markdown: Path | None) -> int:
    """Rescore, or re-execute, an archive with the present code and image."""
    from fluency.archive.commands import replay as again

    return again(archive, stage, list(filter(None, allow.split(","))), markdown)


@fluency.command()
@ARCHIVE
@click.option("--title", default="", help="Title of the decision.")
def decision(archive: Path, title: str) -> int:
    """Write a decision record from an archive."""
    from fluency.archive.commands import write_decision_record

    return write_decision_record(archive, title)


@fluency.command()
@click.option("--format", "name", default="", metavar="NAME", help="The format.")
@click.option("--archive", default="", metavar="FILE", help="An archive; else the study of the configuration.")
@CONFIG
@INTO
def export(name: str, archive: str, files: tuple[str, ...], into: Path | None) -> int:
    """Write a study, archived or as it stands, in another program's format."""
    from fluency.core.loaded_study import load_study
    from fluency.export.formats import main as write

    return write(name, into, archive_file(archive) if archive else None, lambda: load_study(files))


@fluency.command()
@click.argument("logs", nargs=-1, required=True, type=Path)
@click.option("--out", type=Path, default=Path("candidates"), metavar="FOLDER", help="The folder to write to.")
def mine(logs: tuple[Path, ...], out: Path) -> int:
    """Find task candidates in your own agent transcripts; nothing leaves the machine."""
    from fluency.miner import main as find

    return find(logs, out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a user's mistake, or a file that cannot be used, is one sentence and exit code 2."""
    try:
        with fluency.make_context("fluency", list(sys.argv[1:] if arguments is None else arguments)) as context:
            code: Any = fluency.invoke(context)
            return int(code or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "fluency"
        hint = f"`{path} --help` shows the form; `make` lists the targets"
        failure = UserError(error.format_message(), where=path, hint=hint)
    except UserError as error:
        failure = error
    except (KeyboardInterrupt, EOFError):
        print("Interrupted; what was measured is kept, and the same command goes on from here.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        what = error.strerror or f"{type(error).__name__}: {error}"
        hint = "check that it is there, is a file or folder as it should be, and may be read and written"
        failure = UserError(what, where=str(error.filename or ""), hint=hint)
    print(f"Error: {failure}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
