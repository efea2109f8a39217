"""The pinned PowerShell release where its own page is out of reach: nearby or at a mirror, its hash checked."""

from __future__ import annotations

import os
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from fluency.common.errors import SandboxError
from fluency.common.files import sha256_file
from fluency.common.paths import ROOT, SANDBOX
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


def lying_nearby() -> Path | None:
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
