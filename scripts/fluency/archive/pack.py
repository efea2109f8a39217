"""Collect a study's files and write its archive."""

import hashlib
import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from fluency import __version__
from fluency.archive.manifest import (
    FILE_NAME,
    IMAGE,
    MANIFEST_NAME,
    MANIFEST_SCHEMA,
    MAX_NAME,
    SUFFIX,
    WINDOW_LOG,
)
from fluency.common.canonical import with_self_hash
from fluency.common.clock import utc_date
from fluency.common.errors import UserError
from fluency.common.files import atomic_file, plain_files, pretty_json, read_json
from fluency.common.git import git_state
from fluency.common.paths import RESULTS, ROOT
from fluency.common.terminal import log_line
from fluency.core.loaded_study import LoadedStudy
from fluency.core.records import CONTROL_FILE
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.study_view import StudyView
from fluency.core.table import RECORD_TYPES, Row, cell_record, image_path, image_record
from fluency.core.task_world import world_for
from fluency.execution.engine import ensure_engine
from fluency.execution.image import save_image
from fluency.world.model import World

LEVEL = 9
"""Of compression."""
Source = bytes | Path
"""A file to be packed: its bytes, or the file that holds them."""
STUDY_FILE = "study.json"
README_FILE = "README.md"
REGISTRATIONS = "preregistrations"
ENTRY_FILES = "shells/"
SANDBOX_FILES = "sandbox/"
LOCK_FILE = "envs/requirements.lock"
PROJECT_FILES = {
    LOCK_FILE: LOCK_FILE,
    "prices/policies.yaml": "scripts/fluency/generation/policies.yaml",
}
"""Name in an archive -> file of the project."""
WORLD_INDEX = "worlds/index.json"
TREE, WORLD = "tree.tar", "world.json"
README = """# An archived study of the Agent Shell Fluency Eval

`MANIFEST.json` says which study this is, which commit made it, and the SHA-256 and size of every
other file.

With a checkout of the project, without a key and without a network:

    make verify ARCHIVE=<this archive>                  recompute everything and compare
    make open ARCHIVE=<this archive>                    make its table, report and explorer
    make replay ARCHIVE=<this archive> STAGE=execute    run every command again in the sandbox

It holds no table and no report: these are made from the answers and outputs.
`study.json` is the merged configuration, its set of tasks as their ids:
`make run CONFIG=study.json` asks the same questions again.
"""


def missing_cells(rows: Sequence[Row]) -> list[str]:
    """The cells that are not measured yet, by their paths."""
    missing = (row for row in rows if row.status == "missing")
    return [Cell(row.model, row.shell, row.task, row.trial, row.turn).path for row in missing]


def require_complete(loaded: LoadedStudy, rows: Sequence[Row], partial: bool) -> None:
    """UserError when cells or files are missing, unless the archive may be partial."""
    study, missing, needed = loaded.study, missing_cells(rows), list[str]()
    finish = f"`{loaded.command('run')}` finishes it"
    if missing and (not partial or len(missing) == len(rows)):
        counted = f"{len(missing)} of {len(rows)} cells are missing"
        raise UserError(
            f"the study {study.study} is incomplete: {counted}",
            where=", ".join(missing[:3]),
            hint=finish
            + "; PARTIAL=1 packs it as it is, and its name says so" * (len(missing) < len(rows))
            + "; CONFIG= names another study",
        )
    if study.control and not partial:
        needed.append(f"{study.study}/{CONTROL_FILE}")
    measured = {row.shell for row in rows if row.status == "measured"}
    needed += [image_record(shell) for shell in study.shells if shell in measured]
    for name in needed:
        if not (RESULTS / name).is_file():
            raise UserError(f"{name} has not been made", where=str(RESULTS), hint=finish)


def files_below(folder: Path, name: str) -> dict[str, Path]:
    """The plain files below a folder, by their names in an archive, where it is called `name`."""
    return {f"{name}/{path.relative_to(folder).as_posix()}": path for path in plain_files(folder)}


def archive_files(view: StudyView) -> dict[str, Source]:
    """Every file of an archive except its manifest, by name: what no other file gives."""
    study = view.study
    files: dict[str, Source] = {name: ROOT / path for name, path in PROJECT_FILES.items()}
    named = study.model_dump(mode="json") | {"tasks": [task.id for task in view.tasks]}
    files[STUDY_FILE] = pretty_json(named).encode()
    files[README_FILE] = README.encode()
    files |= files_below(ROOT / "sandbox", "sandbox")
    files |= {entry_file(shell): SHELLS[shell].file for shell in study.shells}
    index: dict[str, dict[str, str]] = {}  # task -> seed -> its world, which tasks may share
    for task in view.tasks:
        files |= files_below(task.folder, f"tasks/{task.id}")
        index[task.id] = {}
        for seed in study.seeds:
            world = world_for(task, seed)
            index[task.id][str(seed)] = world_folder(world)
            files |= packed_world(world)
    measured = [
        *map(image_record, study.shells),
        *[f"{study.study}/{CONTROL_FILE}"] * study.control,
        *(cell_record(stage, cell) for stage in RECORD_TYPES for cell in view.cells),
    ]
    files |= {f"results/{n}": RESULTS / n for n in measured if (RESULTS / n).is_file()}
    if study.preregistration:
        own = ROOT / study.preregistration
        files[f"{REGISTRATIONS}/{own.name}"] = own
    return files | {WORLD_INDEX: pretty_json(index).encode()}


def entry_file(shell: str) -> str:
    """The file of a shell's entry in an archive."""
    return f"{ENTRY_FILES}{shell}.yaml"


def world_folder(world: World) -> str:
    """The folder of a world in an archive."""
    return f"worlds/{world.seed}-{world.sha256[:16]}"


def packed_world(world: World) -> dict[str, bytes]:
    """A world's files: the tree as it enters the sandbox, and ages, service and processes."""
    document = {
        "seed": world.seed,
        "sha256": world.sha256,
        "ages": dict(world.ages),
        "service": [route.to_json() for route in world.http],
        "processes": [helper.to_json() for helper in world.processes],
    }
    folder = world_folder(world)
    return {f"{folder}/{TREE}": world.tar, f"{folder}/{WORLD}": pretty_json(document).encode()}


def pack_study(
    loaded: LoadedStudy, folder: Path, *, partial: bool = False, image: bool = False
) -> Path:
    """Write the archive of a study as it is in results/ into a folder and return its path.

    Args:
        partial: cells may be missing; the name then says so.
        image: the archive holds the image, too.
    """
    commit, dirty = git_state()
    name, day = commit or "nocommit", utc_date()
    view = loaded.view()
    study, rows = view.study, view.rows()
    private = [task.id for task in view.tasks if task.private]
    if private:
        log_line(f"The archive holds the private tasks in full: {', '.join(private)}.")
    require_complete(loaded, rows, partial)
    files = archive_files(view)
    facts = {
        "schema_version": MANIFEST_SCHEMA,
        "made_by": __version__,
        "study": study.study,
        "private_tasks": private,
        "commit": name,
        "dirty": bool(dirty),
        "utc_date": day,
    }
    marks = "-dirty" * bool(dirty) + "-partial" * bool(missing_cells(rows))
    path = folder / f"{study.study}-{day}-{name[:12]}{marks}{SUFFIX}"
    with TemporaryDirectory(prefix="fluency-image-") as images:
        for shell in study.shells if image else ():
            files[f"{IMAGE}{shell}.tar"] = saved = Path(images) / f"{shell}.tar"
            image_id = read_json(image_path(RESULTS, shell))["image"]["image_id"]
            save_image(ensure_engine(), image_id, saved)
        write_archive(path, files, facts)
    return path


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
    head = pretty_json(with_self_hash({**facts, "files": hashes}))
    write_tar(target, {MANIFEST_NAME: head.encode(), **{name: files[name] for name in hashes}})


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
