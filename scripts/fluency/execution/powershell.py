"""PowerShell's archive: the pinned release, a given file, one beside the Makefile, or a mirror's."""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.files import sha256, sha256_file, write_atomic
from fluency.common.paths import CACHE, ROOT, SANDBOX
from fluency.common.terminal import log_line

MIRROR = "POWERSHELL_URL"
ARCHITECTURES = {"x86_64": ("x64", "AMD64"), "aarch64": ("arm64", "ARM64")}
LARGEST_BYTES = 400_000_000


def pinned() -> dict[str, str]:
    """Name of each release archive that the Dockerfile knows -> its SHA-256."""
    text = (SANDBOX / "Dockerfile").read_text(encoding="utf-8")
    (version,) = re.findall(r"^ARG POWERSHELL_VERSION=(\S+)$", text, re.MULTILINE)
    sums = dict(re.findall(r"^ARG POWERSHELL_SHA256_(\w+)=([0-9a-f]{64})$", text, re.MULTILINE))
    return {f"powershell-{version}-linux-{name}.tar.gz": sums[key] for name, key in ARCHITECTURES.values()}


def release_name() -> str:
    """The archive for this machine's processor; that of x64 where there is none."""
    name = ARCHITECTURES.get(os.uname().machine, ARCHITECTURES["x86_64"])[0]
    return next(archive for archive in pinned() if archive.endswith(f"-{name}.tar.gz"))


def places() -> Iterator[Path]:
    """Where the archive is looked for without being named: beside the Makefile, and where browsers put downloads."""
    yield ROOT
    yield Path.home() / "Downloads"


def find_beside_makefile() -> Path | None:
    """The release archive in one of the places; one of another content is passed over."""
    name = release_name()
    for place in places():
        path = place / name
        if path.is_file() and os.access(path, os.R_OK) and sha256_file(path) == pinned()[name]:
            return path
    return None


def from_mirror(folder: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The release archive fetched from POWERSHELL_URL into a folder; None if the variable is not set.

    The address is the archive's own, or of the folder that holds it. SandboxError if it cannot be had there, or has
    another SHA-256 than the pinned one.
    """
    given = environ.get(MIRROR, "").strip()
    if not given:
        return None
    name = release_name()
    url = given if given.endswith(".tar.gz") else f"{given.rstrip('/')}/{name}"
    log_line(f"fetching {name} from {MIRROR}")
    where = f"{MIRROR}={given}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".fetch-", delete=False) as file:
        path = Path(file.name)
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                while part := answer.read(1 << 20):
                    file.write(part)
                    if file.tell() > LARGEST_BYTES:
                        raise ValueError("it is too large to be the release")
        except (urllib.error.URLError, OSError, ValueError) as error:
            path.unlink()
            raise SandboxError(
                f"the mirror does not give PowerShell's release: {getattr(error, 'reason', error)}",
                where=where,
                hint=f"give the address of {name} or of the folder that holds it; POWERSHELL_ARCHIVE names a file",
            ) from None
    if sha256_file(path) != pinned()[name]:
        path.unlink()
        raise SandboxError(
            "what the mirror gives has another SHA-256 than the pinned release",
            where=where,
            hint="do not use that mirror; a build of your own can be named by POWERSHELL_ARCHIVE",
        )
    return path


NAME = "pwsh"
VARIABLE = "POWERSHELL_ARCHIVE"
KEPT_FOLDER = CACHE / "powershell"
RELEASE_PAGE = "https://github.com/PowerShell/PowerShell/releases"
INSTALL_HINT = (
    f"put {release_name()} beside the Makefile and run `make image` "
    f"({VARIABLE}=… names another file, {MIRROR}=… a mirror)"
)
# Exit codes of the Dockerfile's PowerShell step.
BUILD_FAILURES = {
    65: ("there is no PowerShell release for this processor", INSTALL_HINT),
    66: ("the download of PowerShell broke off", f"run again, or {INSTALL_HINT}"),
    67: ("the downloaded PowerShell archive has a wrong SHA-256", f"do not use it; run again, or {INSTALL_HINT}"),
    68: ("the PowerShell archive is damaged", INSTALL_HINT),
    69: ("the PowerShell archive holds no pwsh", INSTALL_HINT),
}


def build_argument(source: str | None) -> tuple[str, dict[str, str]]:
    """The Dockerfile's POWERSHELL argument, and why the image will hold no PowerShell, under its name, if it will not.

    `source` is the SHA-256 of a given archive.
    """
    if source:
        if source not in pinned().values():
            log_line(
                "the PowerShell archive is not the pinned release; the image's label and every record tell its version"
            )
        return "given", {}
    if why := can_download():
        log_line(f"building without PowerShell: {why}; to have it, {INSTALL_HINT}")
        return "none", {NAME: why}
    return "download", {}


def archive_origin(label: str, architecture: str) -> tuple[dict[str, str], list[str]]:
    """The archive that an image's PowerShell came from, under the shell's name, and whether it is another build.

    label: `download`, which the Dockerfile held against its pinned hash, or the SHA-256 of a given archive;
    architecture: the image's, as the engine names it. Empty where the image holds none, or does not tell.
    """
    official = {name.rsplit("-", 1)[1]: digest for name, digest in pinned().items()}
    if label == "download":
        digest = official.get("x64.tar.gz" if architecture == "amd64" else f"{architecture}.tar.gz")
        return ({NAME: digest} if digest else {}), []
    if len(label) != 64:
        return {}, []
    return {NAME: label}, [] if label in official.values() else [NAME]


def powershell_source() -> str | None:
    """SHA-256 of the archive that the image takes instead of downloading one; None: there is none.

    Named by POWERSHELL_ARCHIVE now or earlier, or else lying nearby, or else fetched once from POWERSHELL_URL.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return _keep(Path(given).expanduser())
    current = KEPT_FOLDER / "current"
    source = current.read_text(encoding="utf-8").strip() if current.exists() else None
    if source and archive_path(source).exists():
        return source
    if nearby := find_beside_makefile():
        return _keep(nearby)
    if fetched := from_mirror(KEPT_FOLDER):
        try:
            return _keep(fetched)
        finally:
            fetched.unlink()
    return None


def archive_path(source: str) -> Path:
    """Where a given archive is kept."""
    return KEPT_FOLDER / f"{source}.tar.gz"


def _keep(given: Path) -> str:
    """Copy the archive, or pack the folder, once; later calls see by size and time that it is the same."""
    if _unreadable(given):
        raise SandboxError("you may not read it", where=f"{VARIABLE}={given}", hint="give it read permission")
    found = _tarball_or_folder(given)
    status = found.stat()
    mark = canonical_json([str(found.resolve()), status.st_size, str(status.st_mtime_ns)])
    note = KEPT_FOLDER / "given"
    if note.exists() and note.read_text(encoding="utf-8") == mark:
        source = (KEPT_FOLDER / "current").read_text(encoding="utf-8").strip()
        if archive_path(source).exists():
            return source
    try:
        archive = _packed(found) if found.is_dir() else found.read_bytes()
        _check_holds_it(archive, found)
        source = sha256(archive)
        write_atomic(archive_path(source), archive)
    except OSError as error:
        raise SandboxError(
            f"the archive cannot be kept: {error.strerror}", where=str(found), hint=f"make room in {KEPT_FOLDER}"
        ) from None
    write_atomic(KEPT_FOLDER / "current", source + "\n")
    write_atomic(note, mark)
    return source


def _unreadable(given: Path) -> bool:
    """Whether something is, or may be, there that we may not read."""
    try:
        given.stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return not os.access(given, os.R_OK, effective_ids=True)


def _tarball_or_folder(given: Path) -> Path:
    """The tarball, or the folder that holds `pwsh`."""
    if given.is_file():
        return given
    if not given.is_dir():
        raise SandboxError("there is no such file or folder", where=f"{VARIABLE}={given}", hint=INSTALL_HINT)
    if (given / NAME).is_file():
        return given
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, "")
    archives = sorted(given.glob("powershell-7*.tar.gz")) or sorted(given.glob("*.tar.gz"))
    fitting = [path for path in archives if f"-{machine}." in path.name] or archives
    if fitting:
        return fitting[-1]
    raise SandboxError("the folder holds neither pwsh nor a .tar.gz", where=f"{VARIABLE}={given}", hint=INSTALL_HINT)


def _packed(folder: Path) -> bytes:
    """A folder as a tar; the same folder gives the same bytes: names in order, no times, no owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            info = archive.gettarinfo(path, str(path.relative_to(folder)))
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
            if info.isreg():
                archive.addfile(info, io.BytesIO(path.read_bytes()))
            elif info.isdir():
                archive.addfile(info)
    return buffer.getvalue()


def _check_holds_it(archive: bytes, named: Path) -> None:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            if any(Path(member.name).name == NAME for member in opened):
                return
        what = "the archive holds no pwsh"
    except (tarfile.TarError, OSError, EOFError) as error:
        what = f"the archive is damaged: {error}"
    raise SandboxError(what, where=f"{VARIABLE}={named}", hint=f"fetch it again from {RELEASE_PAGE}")


def can_download(timeout_s: float = 8.0) -> str | None:
    """None if the release page answers, else why not, in a few words."""
    try:
        with urllib.request.urlopen(urllib.request.Request(RELEASE_PAGE, method="HEAD"), timeout=timeout_s):
            return None
    except (urllib.error.URLError, OSError, ValueError) as error:
        return f"the release page cannot be reached ({getattr(error, 'reason', error)})"
