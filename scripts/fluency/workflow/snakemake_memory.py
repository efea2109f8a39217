"""What Snakemake remembers of how a product was made, and what it has forgotten.

It reruns a job whose param is another than the one it noted in `.snakemake/metadata`. A product without such a note
(results brought from elsewhere, a lost `.snakemake`) it would take as it is, whatever the study, the checks or the
sandbox are now. So those are marked the way Snakemake marks what a killed job left, which the profile has it make anew.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import RESULTS, ROOT
from fluency.core.records import Generation
from fluency.core.schema import read_record
from fluency.core.study import Cell
from fluency.core.table import record_path
from fluency.generation.request import request_for, request_key
from fluency.workflow.ready_study import ReadyStudy

FOLDER = ROOT / ".snakemake"
LONGEST_NAME = 255


def doubt_products_of_unknown_making(ready: ReadyStudy) -> None:
    """Mark the products that are there and of which nobody knows how they were made, so that they are made anew."""
    for name in of_unknown_making(ready):
        with suppress(OSError):  # a folder that cannot be written is told by Snakemake, which needs it
            write_atomic(_place("incomplete", name), '{"external_jobid": null}')


def of_unknown_making(ready: ReadyStudy) -> list[str]:
    """The products that are there and of which there is no note, named as the rules name them.

    A generation says itself what was asked: one that holds the answer to the study's request stays what it is.
    """
    generations = {str(record_path(Path(RESULTS.name), "generations", cell)): cell for cell in ready.cells}
    there = [name for name in ready.products() if not _place("metadata", name).exists() and (ROOT / name).exists()]
    return [name for name in there if name not in generations or not _answers(ready, generations[name], ROOT / name)]


def _answers(ready: ReadyStudy, cell: Cell, path: Path) -> bool:
    try:
        key = read_record(Generation, path).answer.request_key
    except UserError:
        return False
    return key == request_key(request_for(ready.study, cell, ready.prompt(cell)))


def _place(kind: str, product: str) -> Path:
    """Where Snakemake 9 keeps something of a file: its name in Base64, cut into folders where it is too long."""
    encoded = urlsafe_b64encode(product.encode()).decode()
    pieces = [encoded[at : at + LONGEST_NAME - 1] for at in range(0, len(encoded), LONGEST_NAME - 1)]
    return FOLDER.joinpath(kind, *(f"@{piece}" for piece in pieces[:-1]), pieces[-1])
