"""Collect a study's files and write its archive."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fluency import __version__
from fluency.archive.code_hashes import code_hashes
from fluency.archive.manifest import (
    FILE_NAME,
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    MAX_NAME,
    archive_name,
    manifest_bytes,
)
from fluency.archive.registration import siblings
from fluency.archive.tar_format import Entry, write_tar
from fluency.archive.world_files import world_entries
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import plain_files, pretty_json, sha256
from fluency.common.paths import CONFIG, ROOT
from fluency.core.records import CONTROL_FILE
from fluency.core.study import Cell, Study, read_study
from fluency.core.study_view import StudyView
from fluency.core.table import PRODUCTS, RECORD_TYPES, Row, record_path, to_frame
from fluency.core.task_world import world_for
from fluency.generation.store import AnswerStore

STUDY_FILE = "study.json"
IMAGE = "image/image.tar"
LOCK_FILE = "envs/requirements.lock"
PRICES_FILE = "prices/policies.yaml"
PROJECT_FILES = {
    "config.yaml": "config.yaml",
    LOCK_FILE: LOCK_FILE,
    "scripts/fluency/generation/policies.yaml": PRICES_FILE,
}
"""File of the project -> its name in an archive."""
_README = """# An archived study of the Agent Shell Fluency Eval

`MANIFEST.json` says which study this is, which commit made it, and the SHA-256 and size of every other file.
The report is `results/<study>/report.md`; in `explorer.html` next to it every cell can be opened.

With a checkout of the project, without a key and without a network:

    make verify ARCHIVE=<this archive>                  check the evidence, and judge every execution again
    make open ARCHIVE=<this archive>                    make the report and the explorer again
    make replay ARCHIVE=<this archive> STAGE=execute    run every command again in the sandbox

Read the report that `make open` makes: the one in here is a copy that nothing checks.
"""


@dataclass(frozen=True)
class Coverage:
    """How much of a study's design is measured, from the rows of its cells."""

    rows: list[Row]

    @property
    def missing(self) -> list[str]:
        rows = [row for row in self.rows if row.status == "missing"]
        return [Cell(row.model, row.shell, row.task, row.trial).path for row in rows]

    @property
    def not_measured(self) -> dict[str, str]:
        """Model/shell -> the reason why it cannot be measured; such cells are complete."""
        rows = [row for row in self.rows if row.status == "not_measured"]
        return {f"{row.model}/{row.shell}": row.reason or "" for row in rows}


def require_complete(view: StudyView, coverage: Coverage, products: Path, partial: bool) -> None:
    """UserError when cells or products are missing or stale, unless the archive may be partial."""
    missing, table = coverage.missing, products / "cells.csv"
    wanted = [*PRODUCTS, *[CONTROL_FILE] * view.study.control]
    absent = [name for name in wanted if not (products / name).is_file()]
    if (missing or absent) and not partial:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        what = f"the study is incomplete: {len(missing)} of {len(coverage.rows)} cells are missing"
        where = ", ".join(missing[:3]) + more
        if not missing:
            what, where = f"{absent[0]} has not been made", str(products)
        hint = "`make run` finishes the study; PARTIAL=1 packs it as it is, and its name says so"
        raise UserError(what, where=where, hint=hint)
    rows = to_frame(coverage.rows).to_csv(index=False, lineterminator="\n")
    if table.is_file() and table.read_text(encoding="utf-8") != rows:
        hint = "`make run` makes the table and the report again"
        raise UserError("the table does not say what the records say", where=str(table), hint=hint)


def product_names(study: Study, names: Iterable[str]) -> set[str]:
    """Those of the names that are products of the study's rules."""
    start = f"results/{study.study}/"
    fixed = {f"{start}{name}" for name in (*PRODUCTS, *[CONTROL_FILE] * study.control)}
    figure = re.compile(rf"{re.escape(start)}figures/[^/]+\.svg")
    return {name for name in names if name in fixed or figure.fullmatch(name)}


def registration_name(path: str) -> str:
    """The name of a study's registration in its archive."""
    return f"preregistrations/{Path(path).name}"


def config_name(path: str) -> str:
    """The name of a configuration file in the archive: the default at the top, overrides of any folder in config/."""
    return path if path == "config.yaml" else f"config/{Path(path).name}"


def config_names(study: Study, files: Sequence[Path]) -> list[str]:
    """The archive's names of config.yaml and its overrides, in their order.

    `confirm` is not part of a study: it says who was asked before the run.

    Raises:
        UserError: if the study is not what the files give.
    """
    stated, derived = study.model_dump(), read_study(*files[1:]).model_dump()
    where = ", ".join(map(str, files))
    for key in stated:
        if stated[key] != derived[key] and key != "confirm":
            what = f"the study's `{key}` is not that of its configuration files"
            hint = "put values of the command line into a file, and name it with CONFIG="
            raise UserError(what, where=where, hint=hint)
    names = ["config.yaml", *(config_name(file.name) for file in files[1:])]
    if len(set(names)) < len(names):
        what = "two configuration files have the same name"
        raise UserError(what, where=where, hint="rename one of them")
    return names


def archive_entries(
    view: StudyView, results: Path, answers: AnswerStore, config: Mapping[str, Path]
) -> dict[str, Entry]:
    """Every file of an archive except its manifest, by name: the study's products and evidence.

    Raises:
        UserError: if an answer is not in the store.
    """
    study = view.study
    files: dict[str, bytes | Path] = {name: ROOT / source for source, name in PROJECT_FILES.items()}
    files |= config
    files[STUDY_FILE] = pretty_json(study.model_dump(mode="json")).encode()
    files["README.md"] = _README.encode()
    folders = {"sandbox": ROOT / "sandbox"}
    folders |= {f"tasks/{task.id}": task.folder for task in view.tasks}
    folders[f"results/{study.study}"] = results / study.study
    found = {
        f"{name}/{path.relative_to(folder).as_posix()}": path
        for name, folder in folders.items()
        for path in plain_files(folder)
    }
    products = product_names(study, found)
    files |= {
        name: path
        for name, path in found.items()
        if name in products or not name.startswith("results/")
    }
    if (results / "image.json").is_file():
        files["results/image.json"] = results / "image.json"
    if study.preregistration:
        own = ROOT / study.preregistration
        files |= {registration_name(path.name): path for path in (own, *siblings(own))}
    for cell in view.cells:
        for stage in RECORD_TYPES:
            path = record_path(results, stage, cell)
            if path.is_file():
                files[f"results/{stage}/{cell.path}.json"] = path
        if generation := view.records(cell).generation:
            key = generation.answer.request_key
            path = answers.path(key)
            if not path.is_file():
                what = "the answer store has lost this cell's answer"
                where = f"{cell.path} ({path})"
                raise UserError(what, where=where, hint="restore answers/ from a copy")
            files[f"answers/{key[:2]}/{key}.json"] = path
    worlds = world_entries(view.tasks, study.seeds, world_for)
    entries = [*worlds, *(Entry(name, source) for name, source in files.items())]
    return {entry.name: entry for entry in entries}


def make_archive(
    view: StudyView,
    results: Path,
    answers: Path,
    out_folder: Path,
    *,
    commit: str,
    dirty: bool,
    utc_date: str,
    config: Sequence[Path] = (CONFIG,),
    partial: bool = False,
    save_image: Callable[[str, Path], None] | None = None,
) -> Path:
    """Write the archive of a complete study and return its path.

    Args:
        view: the study in `results`.
        config: the files it was read from, in their order.
        partial: cells may be missing; name and manifest then say so.
        save_image: saves the image of an id to a file; without it the archive holds no image.
    """
    study, coverage, names = view.study, Coverage(view.rows()), config_names(view.study, config)
    require_complete(view, coverage, results / study.study, partial)
    files = dict(zip(names, config, strict=True))
    entries = archive_entries(view, results, AnswerStore(answers), files)
    fields = {
        "schema_version": MANIFEST_SCHEMA,
        "made_by": __version__,
        "study": study.study,
        "study_sha256": sha256(canonical_json(study.model_dump(mode="json"))),
        "utc_date": utc_date,
        "commit": commit,
        "dirty": dirty,
        "partial": bool(coverage.missing),
        "image_included": save_image is not None,
        "private_tasks": [task.id for task in view.tasks if task.private],
        "cells": len(coverage.rows),
        "not_measured": coverage.not_measured,
        "missing": coverage.missing,
        "code": code_hashes(),
        "config": names,
    }
    name = archive_name(study.study, utc_date, commit, dirty=dirty, partial=bool(coverage.missing))
    with TemporaryDirectory(prefix="fluency-image-") as folder:
        if save_image:
            facts, image = results / "image.json", Path(folder) / "image.tar"
            if not facts.is_file():
                hint = "leave IMAGE=1 out, or run the study here"
                raise UserError("there is no image to save", where=str(facts), hint=hint)
            save_image(json.loads(facts.read_bytes())["image"]["image_id"], image)
            entries[IMAGE] = Entry(IMAGE, image)
        write_entries(out_folder / name, entries, fields)
    return out_folder / name


def write_entries(target: Path, entries: Mapping[str, Entry], fields: Mapping[str, object]) -> None:
    """Write the archive of these entries, with a manifest of the fields and each file's hash."""
    ordered, files = [entries[name] for name in sorted(entries)], {}
    for entry in ordered:
        if not re.fullmatch(FILE_NAME, entry.name) or len(entry.name) > MAX_NAME:
            what = "this file cannot be archived: its name has unusual characters or is too long"
            raise UserError(what, where=entry.name, hint="rename it")
        with entry.open() as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
        files[entry.name] = {"sha256": digest, "bytes": entry.size}
    head = Entry(MANIFEST_NAME, manifest_bytes({**fields, "files": files}))
    write_tar(target, [head, *ordered])
