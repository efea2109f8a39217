"""Collect a study's files and write its archive."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import zstandard

from fluency import __version__
from fluency.archive.manifest import (
    FILE_NAME,
    IMAGE,
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    MAX_NAME,
    WINDOW_LOG,
    archive_name,
    manifest_bytes,
)
from fluency.archive.registration import siblings
from fluency.archive.world_files import world_files
from fluency.common.clock import utc_date
from fluency.common.errors import UserError
from fluency.common.files import atomic_file, plain_files, pretty_json, read_json
from fluency.common.git import git_state
from fluency.common.paths import ANSWERS, ARCHIVES, RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.core.code_hashes import code_hashes
from fluency.core.loaded_study import LoadedStudy
from fluency.core.study import Study
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, Row, fixed_products, to_frame
from fluency.core.task_world import world_for
from fluency.execution.engine import ensure_engine
from fluency.execution.image import save_image
from fluency.generation.store import AnswerStore

LEVEL = 9
"""Of compression."""
Source = bytes | Path
"""A file to be packed: its bytes, or the file that holds them."""
STUDY_FILE = "study.json"
README_FILE = "README.md"
REGISTRATIONS = "preregistrations"
LOCK_FILE = "envs/requirements.lock"
PROJECT_FILES = {
    LOCK_FILE: LOCK_FILE,
    "prices/policies.yaml": "scripts/fluency/generation/policies.yaml",
}
"""Name in an archive -> file of the project."""
_README = """# An archived study of the Agent Shell Fluency Eval

`MANIFEST.json` says which study this is, which commit made it, and the SHA-256 and size of every
other file.
The report is `results/<study>/report.md`; in `explorer.html` next to it every cell can be opened.

With a checkout of the project, without a key and without a network:

    make verify ARCHIVE=<this archive>                  check it, and judge every execution again
    make open ARCHIVE=<this archive>                    make the report and the explorer again
    make replay ARCHIVE=<this archive> STAGE=execute    run every command again in the sandbox

Read the report that `make open` makes: the one in here is a copy that nothing checks.
`study.json` is the merged configuration, its set of tasks as their ids:
`make run CONFIG=study.json` asks the same questions again.
"""


def pack_study(loaded: LoadedStudy, *, partial: bool = False, image: bool = False) -> Path:
    """Write the archive of a study as it is in results/ and return its path."""
    commit, dirty = git_state()
    if private := [task.id for task in loaded.tasks if task.private]:
        log_line(f"The archive holds the private tasks in full: {', '.join(private)}.")
    return make_archive(
        loaded.view(),
        RESULTS,
        ANSWERS,
        ARCHIVES,
        {"commit": commit or "nocommit", "dirty": bool(dirty), "utc_date": utc_date()},
        partial=partial,
        save_image=(lambda name, path: save_image(ensure_engine(), name, path)) if image else None,
    )


def how_complete(rows: Sequence[Row]) -> dict[str, Any]:
    """The manifest's keys that say how much of a study is measured."""
    return {
        "cells": len(rows),
        "missing": sorted(
            f"{row.model}/{row.shell}/{row.task}/{row.trial}"
            for row in rows
            if row.status == "missing"
        ),
        "not_measured": {
            f"{row.model}/{row.shell}": row.reason or ""
            for row in rows
            if row.status == "not_measured"
        },
    }


def require_complete(study: Study, rows: Sequence[Row], results: Path, partial: bool) -> None:
    """UserError when cells or products are missing or stale, unless the archive may be partial."""
    missing, products = how_complete(rows)["missing"], results / study.study
    if missing and (not partial or len(missing) == len(rows)):
        raise UserError(
            f"the study is incomplete: {len(missing)} of {len(rows)} cells are missing",
            where=", ".join(missing[:3]),
            hint="`make run` finishes the study; PARTIAL=1 packs it as it is, and its name says so",
        )
    needed = [] if partial else [products / name for name in fixed_products(study)]
    if any(row.status == "measured" for row in rows):
        needed.append(results / "image.json")
    hint = "`make run` makes it again"
    for path in needed:
        if not path.is_file():
            raise UserError(f"{path.name} has not been made", where=str(path.parent), hint=hint)
    table = products / "cells.csv"
    if table.is_file() and table.read_text(encoding="utf-8") != table_text(rows):
        raise UserError("the table does not say what the records say", where=str(table), hint=hint)


def table_text(rows: Sequence[Row]) -> str:
    """The bytes of `cells.csv`."""
    return to_frame(list(rows)).to_csv(index=False, lineterminator="\n")


def product_names(study: Study, names: Iterable[str]) -> set[str]:
    """Those of the names that are products of the study's rules."""
    fixed = "|".join(map(re.escape, fixed_products(study)))
    form = re.compile(rf"results/{re.escape(study.study)}/({fixed}|figures/[^/]+\.svg)")
    return set(filter(form.fullmatch, names))


def answer_name(key: str) -> str:
    """The name of an answer's file."""
    return f"answers/{key[:2]}/{key}.json"


def files_below(folder: Path, name: str) -> dict[str, Path]:
    """The plain files below a folder, by their names in an archive, where it is called `name`."""
    return {f"{name}/{path.relative_to(folder).as_posix()}": path for path in plain_files(folder)}


def archive_files(view: StudyView, results: Path, answers: AnswerStore) -> dict[str, Source]:
    """Every file of an archive except its manifest, by name: the study's products and evidence.

    Raises:
        UserError: if an answer is not in the store.
    """
    study = view.study
    files: dict[str, Source] = {name: ROOT / path for name, path in PROJECT_FILES.items()}
    named = study.model_dump(mode="json") | {"tasks": [task.id for task in view.tasks]}
    files[STUDY_FILE] = pretty_json(named).encode()
    files[README_FILE] = _README.encode()
    files |= files_below(ROOT / "sandbox", "sandbox")
    for task in view.tasks:
        files |= files_below(task.folder, f"tasks/{task.id}")
    products = files_below(results / study.study, f"results/{study.study}")
    files |= {name: products[name] for name in product_names(study, products)}
    names = [f"{stage}/{cell.path}.json" for stage in RECORD_TYPES for cell in view.cells]
    for name in ("image.json", *names):
        if (results / name).is_file():
            files[f"results/{name}"] = results / name
    if study.preregistration:
        own = ROOT / study.preregistration
        files |= {f"{REGISTRATIONS}/{path.name}": path for path in (own, *siblings(own))}
    for cell in view.cells:
        if generation := view.records(cell).generation:
            key = generation.answer.request_key
            path = answers.path(key)
            if not path.is_file():
                raise UserError(
                    "the answer store has lost this cell's answer",
                    where=f"{cell.path} ({path})",
                    hint="restore answers/ from a copy",
                )
            files[answer_name(key)] = path
    return files | world_files(view.tasks, study.seeds, world_for)


def make_archive(
    view: StudyView,
    results: Path,
    answers: Path,
    out_folder: Path,
    stated: Mapping[str, Any],
    *,
    partial: bool = False,
    save_image: Callable[[str, Path], None] | None = None,
) -> Path:
    """Write the archive of a complete study and return its path.

    Args:
        view: the study in `results`.
        stated: the manifest's `commit`, `dirty` and `utc_date`.
        partial: cells may be missing; name and manifest then say so.
        save_image: saves the image of an id to a file; without it the archive holds no image.
    """
    study, rows = view.study, view.rows()
    require_complete(study, rows, results, partial)
    files, complete = archive_files(view, results, AnswerStore(answers)), how_complete(rows)
    facts = {
        "schema_version": MANIFEST_SCHEMA,
        "made_by": __version__,
        "study": study.study,
        "private_tasks": [task.id for task in view.tasks if task.private],
        "code": code_hashes(),
        **stated,
        **complete,
    }
    target = out_folder / archive_name(study.study, **stated, partial=bool(complete["missing"]))
    with TemporaryDirectory(prefix="fluency-image-") as folder:
        if save_image:
            files[IMAGE] = saved = Path(folder) / "image.tar"
            save_image(read_json(results / "image.json")["image"]["image_id"], saved)
        write_archive(target, files, facts)
    return target


def write_archive(target: Path, files: Mapping[str, Source], facts: Mapping[str, object]) -> None:
    """Write the archive of these files, with a manifest of the facts and each file's hash."""
    hashes = {}
    for name in sorted(files):
        if not re.fullmatch(FILE_NAME, name) or len(name) > MAX_NAME:
            raise UserError(
                "this file cannot be archived: its name has unusual characters or is too long",
                where=name,
                hint="rename it",
            )
        with _opened(files[name]) as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
            hashes[name] = {"sha256": digest, "bytes": source.seek(0, io.SEEK_END)}
    head = manifest_bytes({**facts, "files": hashes})
    write_tar(target, {MANIFEST_NAME: head, **{name: files[name] for name in hashes}})


def write_tar(path: Path, files: Mapping[str, Source]) -> None:
    """Write files, as a tar in one zstandard frame, in the order given.

    The archive appears whole or not at all.
    """
    form = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, write_checksum=True
    )
    with (
        atomic_file(path) as raw,
        zstandard.ZstdCompressor(compression_params=form).stream_writer(raw, closefd=False) as out,
        tarfile.open(fileobj=out, mode="w|", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, source in files.items():
            member = tarfile.TarInfo(name)
            with _opened(source) as file:
                member.size = file.seek(0, io.SEEK_END)
                file.seek(0)
                tar.addfile(member, file)


def _opened(source: Source) -> io.BytesIO | io.BufferedReader:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
