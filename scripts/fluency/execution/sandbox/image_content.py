"""What the image is built from, as one hash: cheap to compute, and needs no engine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import SANDBOX
from fluency.execution.sandbox.protocol import PROTOCOL

REPOSITORY = "agent-shell-sandbox"
# mmdebstrap's options: it would leave the resolver and the name of the machine it ran on in the image.
MADE_WITH = ("--customize-hook=rm -f $1/etc/resolv.conf $1/etc/hostname",)
SOURCES = (
    "Dockerfile",
    "finish.sh",
    "helper.c",
    "packages-build.txt",
    "packages.txt",
    "command.py",
    "processes.py",
    "runner.py",
    "service.py",
    "tree.py",
)


@cache
def content_sha256(folder: Path = SANDBOX) -> str:
    """Of every file that goes into the image, and of the protocol; an archive's copy of the files lies elsewhere."""
    return sha256(canonical_json({"protocol": PROTOCOL} | {name: sha256_file(folder / name) for name in SOURCES}))


def packages(name: str = "packages.txt") -> list[str]:
    """A package list: one name a line; the image's, or with `packages-build.txt` what the helper's compiler needs."""
    return (SANDBOX / name).read_text(encoding="utf-8").split()


def image_tag(powershell: str | None) -> str:
    """The image's name: the same content and PowerShell archive give the same one."""
    return f"{REPOSITORY}:{sha256(f'{content_sha256()} {powershell}')[:12]}"


def base_tag(name: str) -> str:
    """The name of a base made here from a package list."""
    return f"{REPOSITORY}-base:{sha256(chr(10).join([*packages(name), *MADE_WITH]))[:12]}"
