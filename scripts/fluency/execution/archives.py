"""Where a shell's program comes from: its pinned release, a given file, or one beside its entry."""

import gzip
import os
import re
import shutil
import tarfile
import urllib.request
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, cast

from fluency.common.errors import SandboxError
from fluency.common.files import atomic_file, sha256_file, write_atomic
from fluency.common.paths import CACHE, ROOT
from fluency.common.terminal import log_line
from fluency.core.shells import SHELLS, Architecture, Archive

KEPT_FOLDER = CACHE / "archives"
DOWNLOAD, NONE = "download", "none"
"""A source that is not the SHA-256 of a given archive."""


def architecture_of(machine: str = "") -> Architecture:
    """A processor as the entries name it; this machine's by default."""
    return "arm64" if (machine or os.uname().machine) in ("aarch64", "arm64") else "x64"


def file_name(archive: Archive) -> str:
    """The name of an archive for this machine's processor."""
    return archive.file.format(architecture=architecture_of())


def install_hint(shell: str) -> str:
    """How to have a shell's archive; names one beside the Makefile that is another than pinned."""
    if (archive := SHELLS[shell].install.archive) is None:
        return SHELLS[shell].install_hint
    needed = file_name(archive)
    there = sorted(ROOT.glob(re.split(r"\d", archive.file)[0].rstrip("-") + "-*.t*gz"))
    how = f"put {needed} beside {'the Makefile' if archive.variable else SHELLS[shell].file}"
    if not archive.variable:
        return f"{how}, then `make image`"
    name = f"/path/to/{needed}"
    how += ", or name another archive"
    if there:
        name = there[-1].name
        how = f"{name} is not {needed} as released, so it is taken only if you name it"
    return f"{how}: `{archive.variable}={name} make image`; then run the same command again"


def source_of(shell: str) -> str:
    """What a shell's image takes its program from: a SHA-256, `download` or `none`."""
    return archive_for(shell) or (NONE if why_no_download(shell) else DOWNLOAD)


def log_source(shell: str, source: str) -> None:
    """Say what a build does without: the pinned release, or the shell."""
    archive, title = SHELLS[shell].install.archive, SHELLS[shell].short_title
    if archive is None or source == DOWNLOAD:
        return
    if source == NONE:
        why = why_no_download(shell)
        log_line(f"building without {title}: {why}; to have it, {install_hint(shell)}")
    elif source not in archive.sha256.values():
        log_line(f"the {title} archive is not the pinned release; every record says so")


def archive_origin(shell: str, source: str, machine: str) -> tuple[dict[str, str], list[str]]:
    """Shell -> SHA-256 of its archive, and the shell if that is not a pinned release.

    Both are empty without an archive. `machine` as the engine names it.
    """
    known = SHELLS.get(shell)
    archive = known and known.install.archive
    if not archive or source == NONE:
        return {}, []
    digest = archive.sha256[architecture_of(machine)] if source == DOWNLOAD else source
    return {shell: digest}, [] if digest in archive.sha256.values() else [shell]


def archive_for(shell: str) -> str | None:
    """SHA-256 of the archive that a shell's image is given, if there is one.

    It is named by the entry's variable now or earlier, else it is beside the entry or in the
    project's folder.
    """
    archive = SHELLS[shell].install.archive
    if archive is None:
        return None
    if given := os.environ.get(archive.variable):
        return _keep(shell, archive, Path(given).expanduser(), f"{archive.variable}={given}")
    if (current := KEPT_FOLDER / shell).exists():
        source = current.read_text(encoding="utf-8").strip()
        if archive_path(source).exists():
            return source
    pinned = archive.sha256.get(architecture_of())
    for folder in (SHELLS[shell].file.parent, ROOT):
        found = folder / file_name(archive)
        if os.access(found, os.R_OK) and sha256_file(found) == pinned:
            return _keep(shell, archive, found, str(found))
    return None


def archive_path(source: str) -> Path:
    """Where an archive is kept, by its SHA-256."""
    return KEPT_FOLDER / f"{source}.archive"


def _keep(shell: str, archive: Archive, given: Path, where: str) -> str:
    try:
        source = sha256_file(given)
        if not archive_path(source).exists():
            if archive.is_packed:
                _check(archive, given)
            with given.open("rb") as opened, atomic_file(archive_path(source)) as kept:
                shutil.copyfileobj(opened, kept)
        write_atomic(KEPT_FOLDER / shell, source + "\n")
        return source
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        why = getattr(error, "strerror", None) or f"it is damaged or holds no {archive.program}"
        what = f"the {SHELLS[shell].short_title} archive cannot be used: {why}"
        raise SandboxError(what, where=where, hint=install_hint(shell)) from None


def _check(archive: Archive, given: Path) -> None:
    """EOFError and others unless an archive is whole and has the program."""
    with gzip.open(given) as unzipped, tarfile.open(fileobj=unzipped) as opened:
        if not any(
            each.isfile() and PurePosixPath(each.name).match(archive.program) for each in opened
        ):
            raise EOFError
        while unzipped.read(1 << 20):  # up to its checksum
            pass


def unpack_program(archive: Archive, source: str, into: Path) -> None:
    """Write the program of a kept archive, with the files next to it, into a new folder."""
    into.mkdir()
    if archive.is_packed:
        # No `extractall`: its filters came with Python 3.11.4, and Debian 12 has 3.11.2.
        with tarfile.open(archive_path(source)) as tar:
            files = {PurePosixPath(each.name): each for each in tar if each.isfile()}
            place = min(path for path in files if path.match(archive.program)).parent
            for path, each in files.items():
                if path.is_relative_to(place) and ".." not in path.parts:
                    made = into / path.relative_to(place)
                    made.parent.mkdir(parents=True, exist_ok=True)
                    made.write_bytes(cast(IO[bytes], tar.extractfile(each)).read())
    else:
        shutil.copyfile(archive_path(source), into / archive.program)
    for made in (into, *into.rglob("*")):
        is_program = made.name == PurePosixPath(archive.program).name
        made.chmod(0o755 if made.is_dir() or is_program else 0o644)


def why_no_download(shell: str) -> str | None:
    """None if a shell's release can be downloaded, else why not, in a few words."""
    archive = SHELLS[shell].install.archive
    if archive is None:
        return "it has no archive"
    if architecture_of() not in archive.sha256:
        key = SHELLS[shell].where("install.archive.sha256")
        return f"its archive is not for {architecture_of()} ({key})"
    if not archive.release:
        return f"{file_name(archive)} was not given"
    request = urllib.request.Request(f"{archive.release}/{file_name(archive)}", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=8):
            return None
    except (OSError, ValueError) as error:  # urllib's own error is an OSError
        return f"its release cannot be reached ({getattr(error, 'reason', error)})"
