"""The decision record: what an archive says about the decision it was made for."""

import re
import shlex
from pathlib import Path

from fluency.analysis.contrast import Contrast
from fluency.analysis.study_analysis import analyse
from fluency.archive.unpack import unpacked
from fluency.archive.verify import VerifyReport, verified_view
from fluency.common import clock
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.common.terminal import print_lines
from fluency.core.study_view import StudyView
from fluency.core.table import to_frame
from fluency.report.report import page_values
from fluency.report.templates import render


def write_decision_record(archive: Path, title: str) -> int:
    """Write a decision record from a verified archive."""
    print_lines([str(write_decision(archive, title, ROOT / "docs" / "decisions"))])
    return 0


def write_decision(
    archive: Path, title: str, out_folder: Path, *, utc_date: str | None = None
) -> Path:
    """Write `<date>-<title>.md` from a verified archive and return its path.

    Raises:
        UserError: without a title, when a record of that name exists (a decision may be in it), and
            when the archive is altered.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")
    if not (slug and title.isascii()):
        what = "the record's file name needs a title in ASCII letters or digits"
        raise UserError(what, where="title", hint='`make decision ARCHIVE=… TITLE="…"`')
    date = utc_date or clock.utc_date()
    path = out_folder / f"{date}-{slug}.md"
    if path.exists():
        what, hint = "there is a record of this name", "give another title, or move it away"
        raise UserError(what, where=str(path), hint=hint)
    with unpacked(archive) as files:
        view, report = verified_view(files)
        write_atomic(path, _text(view, title, date, report, path))
    return path


def _word(path: Path) -> str:
    """A path as a word of a command that is given in the project's folder."""
    path = path.resolve()
    return shlex.quote(str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path))


def _text(view: StudyView, title: str, date: str, report: VerifyReport, record: Path) -> str:
    analysis = analyse(to_frame(view.rows()), view.study, view.tasks)
    values = page_values(analysis, view) | {
        "title": " ".join(title.split()),
        "date": date,
        "lines": [_lines(contrast) for contrast in analysis.contrasts],
        "proposes": any(
            verdict.supported and not verdict.provisional
            for pair in analysis.contrasts
            if (verdict := pair.verdict)
        ),
        "report": report,
        "record": record,
        "word": _word,
    }
    return render("decision.md.j2", values)


def _lines(contrast: Contrast) -> dict[str, str]:
    """What the record says about one contrast."""
    verdict, stays = contrast.verdict, "The shell policy as it stands."
    if verdict is None:
        changes = f"Nothing: no verdict ({'; '.join(contrast.refused)})."
    elif verdict.provisional:
        changes = "Nothing yet: missing runs could change the verdict."
    elif not verdict.supported:
        changes = "Nothing is proposed: the interval supports no row of the decision table."
    else:
        changes, stays = contrast.words[verdict.band].changes, contrast.words[verdict.band].stays
    return {"model": contrast.name, "changes": changes, "stays": stays}
