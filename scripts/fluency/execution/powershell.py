"""PowerShell's archive: the pinned release, a given file, or one in the project's folder."""

import gzip
import os
import re
import shutil
import tarfile
import urllib.request
import zlib
from pathlib import Path

from fluency.common.errors import SandboxError
from fluency.common.files import atomic_file, sha256_file, write_atomic
from fluency.common.paths import CACHE, ROOT, SANDBOX
from fluency.common.terminal import log_line
from fluency.core.shells import SHELLS

NAME = "pwsh"
VARIABLE = "POWERSHELL_ARCHIVE"
KEPT_FOLDER = CACHE / "powershell"
RELEASE_PAGE = "https://github.com/PowerShell/PowerShell/releases"
ARCHITECTURES = {"AMD64": "x64", "ARM64": "arm64"}


def pinned() -> dict[str, str]:
    """Name of each release archive in the Dockerfile -> its SHA-256."""
    text = (SANDBOX / "Dockerfile").read_text(encoding="utf-8")
    (version,) = re.findall(r"^ARG POWERSHELL_VERSION=(\S+)$", text, re.MULTILINE)
    sums = re.findall(r"^ARG POWERSHELL_SHA256_(\w+)=([0-9a-f]{64})$", text, re.MULTILINE)
    return {
        f"powershell-{version}-linux-{ARCHITECTURES[processor]}.tar.gz": digest
        for processor, digest in sums
    }


def release_name(machine: str = os.uname().machine) -> str:
    """The release archive for a processor, by default this machine's; x64's for others."""
    name = "arm64" if machine in ("aarch64", "arm64") else "x64"
    return next(archive for archive in pinned() if archive.endswith(f"-{name}.tar.gz"))


def install_hint() -> str:
    """How to have PowerShell; names an archive beside the Makefile that is another than pinned."""
    needed, there = release_name(), sorted(ROOT.glob("powershell-*.tar.gz"))
    how = f"put {needed} beside the Makefile, or name another archive"
    name = f"/path/to/{needed}"
    if there:
        name = there[-1].name
        how = f"{name} is not {needed} as released, so it is taken only if you name it"
    return f"{how}: `{VARIABLE}={name} make image`; then run the same command again"


def build_argument(source: str | None) -> tuple[str, dict[str, str]]:
    """The Dockerfile's POWERSHELL argument, and {"pwsh": why} if the image will hold no PowerShell.

    `source` is the SHA-256 of a given archive.
    """
    if source:
        if source not in pinned().values():
            log_line("the PowerShell archive is not the pinned release; every record says so")
        return "given", {}
    if why := can_download():
        log_line(f"building without PowerShell: {why}; to have it, {install_hint()}")
        return "none", {NAME: why}
    return "download", {}


def archive_origin(label: str, architecture: str) -> tuple[dict[str, str], list[str]]:
    """{"pwsh": SHA-256 of its archive}, and ["pwsh"] if that is not a pinned release.

    Empty without PowerShell. `label` is the image's: `download`, `none` or the SHA-256 of a given
    archive; `architecture` as the engine names it.
    """
    if label == "download":
        label = pinned()[release_name(architecture)]
    if label == "none":
        return {}, []
    return {NAME: label}, [] if label in pinned().values() else [NAME]


def archive_for(shell: str) -> str | None:
    """SHA-256 of the archive that a shell's image is given, if it takes one."""
    return powershell_source() if SHELLS[shell].archived else None


def powershell_source() -> str | None:
    """SHA-256 of the archive that the image takes instead of downloading one, if there is one.

    It is named by POWERSHELL_ARCHIVE now or earlier, else it is in the project's folder.
    """
    if given := os.environ.get(VARIABLE):
        return _keep(Path(given).expanduser(), f"{VARIABLE}={given}")
    if (current := KEPT_FOLDER / "current").exists():
        source = current.read_text(encoding="utf-8").strip()
        if archive_path(source).exists():
            return source
    found = ROOT / release_name()
    if os.access(found, os.R_OK) and sha256_file(found) == pinned()[found.name]:
        return _keep(found, str(found))
    return None


def archive_path(source: str) -> Path:
    """Where an archive is kept, by its SHA-256."""
    return KEPT_FOLDER / f"{source}.tar.gz"


def _keep(given: Path, where: str) -> str:
    try:
        source = sha256_file(given)
        if not archive_path(source).exists():
            with gzip.open(given) as unzipped, tarfile.open(fileobj=unzipped) as opened:
                if NAME not in {Path(name).name for name in opened.getnames()}:
                    raise EOFError
                while unzipped.read(1 << 20):  # up to its checksum
                    pass
            with given.open("rb") as archive, atomic_file(archive_path(source)) as kept:
                shutil.copyfileobj(archive, kept)
        write_atomic(KEPT_FOLDER / "current", source + "\n")
        return source
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        why = getattr(error, "strerror", None) or "it is damaged or holds no pwsh"
        what = f"the PowerShell archive cannot be used: {why}"
        raise SandboxError(what, where=where, hint=install_hint()) from None


def can_download() -> str | None:
    """None if the release page answers, else why not, in a few words."""
    try:
        with urllib.request.urlopen(RELEASE_PAGE, timeout=8):
            return None
    except (OSError, ValueError) as error:  # urllib's own error is an OSError
        return f"the release page cannot be reached ({getattr(error, 'reason', error)})"
