"""Make the archive of a study: the same inputs give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fluency import __version__
from fluency.archive import manifest
from fluency.archive.contents import Coverage, coverage_of, entries_of, require_complete
from fluency.archive.crate import reader_files
from fluency.archive.naming import archive_name, private_name
from fluency.archive.private_part import HELD_OUT, held_out_document, held_out_names, held_out_tasks
from fluency.archive.tar_writer import Entry, write_tar
from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import sha256
from fluency.core.held_out import public_tasks
from fluency.core.stage_code import layer_hashes, library_versions
from fluency.core.study import Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.generation.store import AnswerStore

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
        entries |= {name: Entry(name, data) for name, data in reader_files(study, fields, entries).items()}
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
        "code": layer_hashes(),
        "environment": library_versions(),
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
