"""The decision record: what an archive says about the decision it was made for, ready for the person who decides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluency.analysis.study_analysis import ModelAnalysis, analyse
from fluency.archive.archived_study import ArchivedStudy
from fluency.archive.findings import VerifyReport
from fluency.archive.pack import registration_name
from fluency.archive.registration import read_registration
from fluency.archive.unpack import unpacked
from fluency.archive.verify import verify_unpacked
from fluency.common import clock
from fluency.common.errors import UserError
from fluency.common.files import write_atomic
from fluency.core.provenance import read_provenance
from fluency.core.table import read_table
from fluency.report.report import render
from fluency.report.summary import headline_of

TEMPLATE = "decision.md.j2"


@dataclass(frozen=True)
class ModelLines:
    """What the record says about one model."""

    model: str
    headline: str
    changes: str
    stays: str


def write_decision(archive: Path, title: str, out_folder: Path, *, utc_date: str | None = None) -> Path:
    """Write `<date>-<title>.md` from a verified archive and return its path.

    UserError without a title, when a record of that name is there already (a decision may be in it), and
    when the archive does not hold.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")
    if not slug:
        raise UserError("a decision needs a title", where="title", hint='`make decision ARCHIVE=… TITLE="…"`')
    date = utc_date or clock.utc_date()
    path = Path(out_folder) / f"{date}-{slug}.md"
    if path.exists():
        raise UserError("there is a record of this name", where=str(path), hint="give another title, or move it away")
    with unpacked(Path(archive)) as files:
        report, archived = verify_unpacked(files)
        if archived is None or not report.ok:
            raise UserError(
                f"no decision may rest on this archive: {report.problems[0]}",
                where=str(archive),
                hint="`make verify` lists everything that does not hold",
            )
        write_atomic(path, _text(archived, title, date, report))
    return path


def _text(archived: ArchivedStudy, title: str, date: str, report: VerifyReport) -> str:
    archive, table = archived.unpacked.path, archived.products / "cells.csv"
    if not table.is_file():
        raise UserError("the archive holds no table", where=str(archive), hint="archive the finished study")
    analysis = analyse(read_table(table), archived.study, archived.tasks)
    registration = _registration(archived)
    provenance = read_provenance(archived.products / "provenance.json")
    values: dict[str, Any] = {
        "title": " ".join(title.split()),
        "date": date,
        "gate": archived.study.decision or (registration or {}).get("decision", ""),
        "study": archived.study,
        "analysis": analysis,
        "models": [_lines(model) for model in analysis.models],
        "proposes": any(model.verdict.band and not model.verdict.edge for model in analysis.models),
        "registration": registration,
        "provenance": provenance,
        "manifest": report.manifest,
        "archive": archive.name,
        "sha256": report.sha256,
        "verification": report.conclusion,
        "doubt": "" if report.proven else report.conclusion,
    }
    return render(values, TEMPLATE)


def _registration(archived: ArchivedStudy) -> dict[str, Any] | None:
    if not archived.study.preregistration:
        return None
    name = registration_name(archived.study.preregistration)
    return {"file": name, **read_registration(archived.root / name)}


def _lines(model: ModelAnalysis) -> ModelLines:
    band = model.verdict.band
    if band is None:
        refused = "; ".join(model.verdict.refused)
        changes, stays = f"Nothing: there is no verdict ({refused}).", "The shell policy as it stands."
    elif model.verdict.edge:
        changes = (
            f"Nothing is proposed: both arms stand at the {model.verdict.edge}, so these tasks cannot tell for this "
            f"model. The table's label, {model.words[band].label}, is no finding."
        )
        stays = "The shell policy as it stands; tasks with room for a gap would be needed to say more."
    elif model.verdict.provisional:
        changes = f"Nothing yet: by the table {model.words[band].changes} But missing cells could change the band."
        stays = "The shell policy as it stands, until the study is finished."
    elif not model.verdict.resolved:
        label = model.words[band].changes
        changes = f"By the table: {label} But the verdict is not resolved, and a change could not rest on it."
        stays = model.words[band].stays
    else:
        changes, stays = model.words[band].changes, model.words[band].stays
    return ModelLines(model.model, headline_of(model), changes, stays)
