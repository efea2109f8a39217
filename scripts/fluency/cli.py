"""The command line: `fluency <command>`. Each command imports what it needs when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fluency.common.words import NOTHING_TO_DO
from fluency.workflow.arguments import archive_file, argument, call, command, markdown_file, seeds, stage

CONFIG = argument("--configfile", action="append", default=[], metavar="FILE", help="override file, may be repeated")
ON = argument("--on", default="", metavar="PROFILE", help="what needs containers runs on a cluster: profiles/PROFILE")
ARCHIVE = argument("archive", nargs="?", default="", help="an archive/*.tar.zst")
SIGN = argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key, in a file beside it")
BESIDE = argument("--beside", action="store_true", help="by the commit it names, checked out")
PRIVATE = argument("--private", type=archive_file, metavar="FILE", help="the part that holds its private tasks")
WITH_PRIVATE = argument("--with-private", action="store_true", help="keep private tasks in: not to be published")
SIGNERS = argument("--signers", type=Path, metavar="FILE", help="who may have signed it, as OpenSSH's allowed_signers")
PARTIAL = argument("--partial", action="store_true")
ALLOW = argument("--allow", default="", metavar="LIMIT,LIMIT", help="limits above this checkout's")
MARKDOWN = argument("--markdown", type=markdown_file, metavar="FILE", help="the differences are written there, too")


@command(CONFIG, ON, argument("snakemake", nargs="*", help="passed on to Snakemake, after --"))
def run(options: argparse.Namespace) -> int:
    """Measure a study from its price to its headline."""
    return _measure(options.configfile, options.snakemake, options.on)


@command(CONFIG)
def plan(options: argparse.Namespace) -> int:
    """Say what a run would do and why, what it costs, and what is missing."""
    from fluency.workflow.preflight import print_plan
    from fluency.workflow.ready_study import open_study
    from fluency.workflow.run import snakemake

    return print_plan(open_study(options.configfile), snakemake(options.configfile))


@command(CONFIG)
def report(options: argparse.Namespace) -> int:
    """Write the report of what there is, also of an unfinished study."""
    from fluency.workflow.partial import write_partial
    from fluency.workflow.ready_study import open_study

    return write_partial(open_study(options.configfile))


@command()
def image(options: argparse.Namespace) -> int:
    """Build the sandbox image, starting a container engine where that is possible."""
    from fluency.execution.image import main as make_image

    return make_image()


@command()
def doctor(options: argparse.Namespace) -> int:
    """Say what this machine has, lacks, and what that prevents."""
    from fluency.workflow.doctor import main as examine

    return examine()


@command(
    argument("--task", action="append", default=[], metavar="ID"),
    argument("--seeds", type=seeds, default=[], metavar="A,B", help="worlds, at least one odd and one even"),
)
def validate(options: argparse.Namespace) -> int:
    """Prove the tasks fair in the sandbox; exit 1 if one is unsound."""
    from fluency.validation.validate import main as prove

    return prove(options.task, options.seeds)


@command()
def mutants(options: argparse.Namespace) -> int:
    """Mutate the reference commands and publish what the checks kill."""
    from tools.command_mutants import main as mutate

    return mutate()


@command(argument("cell", help="model/shell/task/trial"))
def show(options: argparse.Namespace) -> int:
    """Show one cell: prompt, reply, command, both worlds, times."""
    from fluency.common.paths import RESULTS
    from fluency.core.study import Cell
    from fluency.report.show import show as show_cell

    show_cell(Cell.parse(options.cell), RESULTS)
    return 0


@command(argument("a"), argument("b"), argument("--markdown", type=Path, help="also write it to this file"))
def compare(options: argparse.Namespace) -> int:
    """Compare two studies task by task."""
    from fluency.report.compare.comparison_page import main as compare_studies

    return compare_studies(options.a, options.b, options.markdown)


@command(CONFIG)
def power(options: argparse.Namespace) -> int:
    """Say what gap this design, or a larger one, could detect."""
    from fluency.analysis.power import main as tabulate
    from fluency.workflow.ready_study import open_study

    return tabulate(open_study(options.configfile).study)


@command(argument("--merge", type=Path, metavar="FOLDER", help="take over the answers of another store"))
def answers(options: argparse.Namespace) -> int:
    """List and verify the answer store."""
    from fluency.generation.audit import main as keep

    return keep(options.merge)


@command(CONFIG, argument("--decision", default="", help="the decision the study is for"))
def preregister(options: argparse.Namespace) -> int:
    """Freeze tasks, seeds, models and analysis plan before a study."""
    from fluency.workflow.ready_study import open_study
    from fluency.workflow.record_keeping import preregister as freeze

    return freeze(open_study(options.configfile), options.decision)


@command(CONFIG, PARTIAL, argument("--image", action="store_true"), WITH_PRIVATE, SIGN)
def archive(options: argparse.Namespace) -> int:
    """Bring a study up to date and pack its decision record; --partial packs what there is."""
    from fluency.workflow.packing import pack
    from fluency.workflow.ready_study import open_study

    if not options.partial and (code := _measure(options.configfile)):
        return code
    asked = {"partial": options.partial, "image": options.image, "with_private": options.with_private}
    print(pack(open_study(options.configfile), **asked, key=options.sign))
    return 0


@command(ARCHIVE, BESIDE, PRIVATE, SIGNERS)
def verify(options: argparse.Namespace) -> int:
    """Check an archive and rebuild its report from the records, offline."""
    from fluency.workflow.record_keeping import verify as check

    return check(archive_file(options.archive), options.beside, options.signers, options.private)


@command(ARCHIVE, argument("--into", type=Path, metavar="FOLDER", help="where report and explorer are written"))
def open_(options: argparse.Namespace) -> int:
    """Verify an archive, and open its report and explorer as this checkout writes them."""
    from fluency.workflow.open_archive import open_archive

    return open_archive(archive_file(options.archive), options.into)


@command(ARCHIVE, argument("--stage", type=stage, default="score", metavar="score|execute"), ALLOW, MARKDOWN)
def replay(options: argparse.Namespace) -> int:
    """Rescore, or re-execute, an archive with the present code and image."""
    from fluency.workflow.record_keeping import replay as again

    allowed = filter(None, options.allow.split(","))
    return again(archive_file(options.archive), options.stage, list(allowed), options.markdown)


@command(ARCHIVE, argument("--title", default="", help="of the decision"))
def decision(options: argparse.Namespace) -> int:
    """Write a decision record from an archive."""
    from fluency.workflow.record_keeping import decide

    return decide(archive_file(options.archive), options.title)


@command(
    argument("--format", default="", metavar="NAME", help="what it is for"),
    argument("--archive", default="", metavar="FILE", help="an archive/*.tar.zst; else the study of the configuration"),
    CONFIG,
    argument("--into", type=Path, metavar="FOLDER", help="an empty folder; else one below exports/"),
)
def export(options: argparse.Namespace) -> int:
    """Write a study, archived or as it stands, in another program's format."""
    from fluency.export.formats import main as write
    from fluency.workflow.ready_study import open_study

    archive = archive_file(options.archive) if options.archive else None
    return write(options.format, options.into, archive, lambda: open_study(options.configfile))


@command(argument("logs", nargs="+", type=Path), argument("--out", type=Path, default=Path("candidates")))
def mine(options: argparse.Namespace) -> int:
    """Find task candidates in your own agent transcripts; nothing leaves the machine."""
    from fluency.miner import main as dig

    return dig(options.logs, options.out)


def _measure(files: Sequence[str], arguments: Sequence[str] = (), on: str = "") -> int:
    """Run a study; what its report says is printed when every cell is measured."""
    from fluency.workflow.cluster import on_nodes
    from fluency.workflow.finished import recall, remember
    from fluency.workflow.ready_study import open_study
    from fluency.workflow.run import here
    from fluency.workflow.run import run as run_study

    ready = open_study(files)
    if not arguments and (text := recall(ready)):
        print(f"{NOTHING_TO_DO}\n{text}")
        return 0
    code = run_study(ready, files, arguments, on_nodes(on, ready) if on else here)
    if code == 0:
        from fluency.workflow.ending import ending_of

        text = ending_of(ready)
        print(text)
        remember(ready, text)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; a user's mistake is one sentence and exit code 2."""
    return call(arguments, __doc__.splitlines()[0])


if __name__ == "__main__":
    sys.exit(main())
