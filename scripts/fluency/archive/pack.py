"""A study's files collected, and the archive written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency import __version__
from fluency.archive import manifest
from fluency.archive.code_hashes import code_hashes, environment
from fluency.archive.crate import CRATE_FILE, crate_bytes
from fluency.archive.manifest import archive_name, private_name
from fluency.archive.private_part import HELD_OUT, held_out_document, held_out_names, held_out_tasks
from fluency.archive.tar_format import Entry, write_tar
from fluency.archive.world_files import world_entries
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import plain_files, pretty_json, sha256
from fluency.common.paths import ROOT
from fluency.core.held_out import HeldOutTask, public_tasks
from fluency.core.study import Cell, Study
from fluency.core.table import PRODUCTS, RECORD_TYPES, Row, gather_rows, load_records, record_path, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.generation.store import AnswerStore
from fluency.world import World

STUDY_FILE = "study.json"
PROJECT_FILES = {
    "config.yaml": "config.yaml",
    "envs/requirements.lock": "envs/requirements.lock",
    "scripts/fluency/generation/policies.yaml": "prices/policies.yaml",
}


@dataclass(frozen=True)
class Coverage:
    """How much of a study's design is measured: one row a cell, and what follows from them."""

    rows: list[Row]

    @property
    def missing(self) -> list[str]:
        """The cells without a score, as paths."""
        return [Cell(r.model, r.shell, r.task, r.trial).path for r in self.rows if r.status == "missing"]

    @property
    def not_measured(self) -> dict[str, str]:
        """Arm -> the reason why it cannot be measured; such cells are complete."""
        return {f"{r.model}/{r.shell}": r.reason or "" for r in self.rows if r.status == "not_measured"}


def coverage_of(study: Study, tasks: Sequence[Task | HeldOutTask], results: Path) -> Coverage:
    """Read every record of the study; a damaged one is a UserError that names it."""
    cells = list(study.cells([task.id for task in tasks]))
    return Coverage(gather_rows(cells, tasks, lambda cell: load_records(results, cell)))


def require_complete(study: Study, coverage: Coverage, results: Path, partial: bool) -> None:
    """UserError when cells or products are missing or stale, unless the archive is to be partial."""
    missing = coverage.missing
    if missing and not partial:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UserError(
            f"the study is incomplete: {len(missing)} of {len(coverage.rows)} cells are missing",
            where=", ".join(missing[:3]) + more,
            hint="run the study to its end, or set PARTIAL=1; the archive then says so in its name",
        )
    folder = Path(results) / study.study
    absent = [name for name in PRODUCTS if not (folder / name).is_file()]
    if absent and not partial:
        raise UserError(f"{absent[0]} has not been made", where=str(folder), hint="run the study to its end")
    table = folder / "cells.csv"
    if table.is_file() and table.read_text(encoding="utf-8") != to_frame(coverage.rows).to_csv(
        index=False, lineterminator="\n"
    ):
        raise UserError(
            "the table does not say what the records say",
            where=str(table),
            hint="run the study again; it makes the table and the report anew",
        )


def entries_of(
    study: Study,
    tasks: Sequence[Task],
    results: Path,
    answer_path: Callable[[str], Path],
    world_for: Callable[[Task, int], World],
    extra_files: Mapping[str, Path],
) -> dict[str, Entry]:
    """Every file of the archive but its manifest, by name; UserError if an answer is not in the store."""
    entries = {entry.name: entry for entry in world_entries(tasks, study.seeds, world_for)}

    def add(name: str, source: bytes | Path) -> None:
        entries[name] = Entry(name, source)

    add(STUDY_FILE, pretty_json(study.model_dump(mode="json")).encode())
    add("README.md", _README.encode())
    for task in tasks:
        for path in plain_files(task.folder):
            add(f"tasks/{task.id}/{path.relative_to(task.folder).as_posix()}", path)
    for cell in study.cells([task.id for task in tasks]):
        for stage in RECORD_TYPES:
            path = record_path(results, stage, cell)
            if path.is_file():
                add(f"results/{stage}/{cell.path}.json", path)
        generation = load_records(results, cell).generation
        if generation:
            key = generation.answer.request_key
            if not answer_path(key).is_file():
                raise UserError(
                    "the answer store has lost this cell's answer",
                    where=f"{cell.path} ({answer_path(key)})",
                    hint="restore the answers/ folder from a copy",
                )
            add(f"answers/{key[:2]}/{key}.json", answer_path(key))
    for path in plain_files(Path(results) / study.study):
        add(f"results/{study.study}/{path.relative_to(Path(results) / study.study).as_posix()}", path)
    if (Path(results) / "image.json").is_file():
        add("results/image.json", Path(results) / "image.json")
    for path in plain_files(ROOT / "sandbox"):
        add(path.relative_to(ROOT).as_posix(), path)
    for source, name in PROJECT_FILES.items():
        add(name, ROOT / source)
    if study.preregistration:
        add(registration_name(study.preregistration), ROOT / study.preregistration)
    for name, path in extra_files.items():
        add(name, Path(path))
    return entries


def registration_name(path: str) -> str:
    """Where a study's registration stands in its archive."""
    return f"preregistrations/{Path(path).name}"


def config_name(path: str) -> str:
    """Where a configuration file stands: the default at the top, overrides of whatever folder below config/."""
    return path if path == "config.yaml" else f"config/{Path(path).name}"


_README = """# An archived study of the Agent Shell Fluency Eval

`MANIFEST.json` says which study this is, which commit made it, and the SHA-256 and size of every other file.
The report stands in `results/<study>/report.md`, a page to doubt every single cell with beside it as `explorer.html`.

With a checkout of the project, without a key and without a network:

    make verify ARCHIVE=<this archive>                  every hash, every link, and the report made anew
    make replay ARCHIVE=<this archive> STAGE=score      judged anew by the checks of that checkout
    make replay ARCHIVE=<this archive> STAGE=execute    every command run anew in its sandbox

Nothing in an archive is executed by `verify`: task code is only used where the checkout holds the same bytes.
"""
IMAGE = "image/image.tar"


def make_archive(
    study: Study,
    tasks: Sequence[Task],
    results: Path,
    answers: Path,
    out_folder: Path,
    *,
    commit: str,
    dirty: bool,
    utc_date: str,
    partial: bool,
    image: bool,
    extra_files: Mapping[str, Path],
    with_private: bool = False,
    save_image: Callable[[str, Path], None] | None = None,
) -> Path:
    """Write the archive of a complete study and return its path.

    `extra_files` maps names in the archive to files (config overrides, logs). A study with a missing cell is
    a UserError unless `partial`, which then stands in the name and the manifest. With `image` the container
    image is saved too, by `save_image(image id, path)`. What would show a private task goes into a second file beside
    it (`private_name`), unless the study shows such tasks or `with_private` asks for one archive of everything.
    """
    coverage = coverage_of(study, public_tasks(tasks, study), results)
    require_complete(study, coverage, results, partial)

    def entries_for(chosen: Sequence[Task]) -> dict[str, Entry]:
        return entries_of(study, chosen, results, AnswerStore(answers).path, world_for, extra_files)

    entries = entries_for(tasks)
    private = [] if with_private else held_out_tasks(tasks, study)
    names: list[str] = []
    if private:
        public = [task for task in tasks if task not in private]
        names = held_out_names(entries, {*entries_for(public)})
        entries[HELD_OUT] = Entry(HELD_OUT, held_out_document(private, study, coverage.rows, world_for))
    fields = manifest_fields(study, coverage, commit=commit, dirty=dirty, utc_date=utc_date, image=image)
    target = Path(out_folder) / archive_name(study.study, utc_date, commit, dirty=dirty, partial=bool(coverage.missing))
    with TemporaryDirectory(prefix="fluency-image-") as folder:
        if image:
            entries |= _image_entry(results, Path(folder), save_image)
        entries[CRATE_FILE] = Entry(CRATE_FILE, crate_bytes(study, fields, entries))
        write_entries(target, entries, fields, names)
    return target


def _image_entry(results: Path, folder: Path, save_image: Callable[[str, Path], None] | None) -> dict[str, Entry]:
    """The container image as one file."""
    path = Path(results) / "image.json"
    if save_image is None or not path.is_file():
        raise UserError("there is no image to save", where=str(path), hint="leave IMAGE=1 out, or run the study here")
    save_image(json.loads(path.read_text(encoding="utf-8"))["image"]["image_id"], folder / "image.tar")
    return {IMAGE: Entry(IMAGE, folder / "image.tar")}


def manifest_fields(
    study: Study, coverage: Coverage, *, commit: str, dirty: bool, utc_date: str, image: bool
) -> dict[str, Any]:
    """The manifest's fields that are not about files."""
    return {
        "schema_version": 2,
        "made_by": __version__,
        "study": study.study,
        "study_sha256": sha256(canonical_json(study.model_dump(mode="json"))),
        "utc_date": utc_date,
        "commit": commit,
        "dirty": dirty,
        "partial": bool(coverage.missing),
        "image_included": image,
        "cells": len(coverage.rows),
        "not_measured": coverage.not_measured,
        "missing": coverage.missing,
        "code": code_hashes(),
        "environment": environment(),
    }


def write_entries(
    target: Path, entries: Mapping[str, Entry], fields: Mapping[str, object], held_out: Collection[str] = ()
) -> None:
    """Hash the entries, write the manifest from them and the fields, and pack all in the order of names.

    Those held out go into a file of their own, under the same manifest.
    """
    ordered = [entries[name] for name in sorted(entries)]
    files = {entry.name: {"sha256": _hash(entry), "bytes": entry.size} for entry in ordered}
    more = {"schema_version": manifest.SCHEMA_VERSION, "held_out": sorted(held_out)} if held_out else {}
    head = Entry(manifest.MANIFEST_NAME, manifest.manifest_bytes({**fields, **more, "files": files}))
    apart = set(held_out)
    write_tar(target, [head, *(entry for entry in ordered if entry.name not in apart)])
    if held_out:
        part = target.with_name(private_name(target.name))
        write_tar(part, [head, *(entry for entry in ordered if entry.name in apart)])


def _hash(entry: Entry) -> str:
    with entry.open() as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
