"""What the image is built from, hashed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import SANDBOX
from fluency.core.shells import SHELLS
from fluency.execution.protocol import PROTOCOL

REPOSITORY = "agent-shell-sandbox"
# mmdebstrap's options: it would leave the resolver and the name of the machine it ran on in the image.
MMDEBSTRAP_OPTIONS = ("--customize-hook=rm -f $1/etc/resolv.conf $1/etc/hostname",)
SOURCES = (
    "Dockerfile",
    "finish.sh",
    "helper.c",
    "packages-build.txt",
    "packages.txt",
    "command.py",
    "identity.py",
    "processes.py",
    "runner.py",
    "routes.py",
    "service.py",
    "tree.py",
)


@cache
def content_sha256(folder: Path = SANDBOX, sources: tuple[str, ...] = SOURCES) -> str:
    """Of every file that goes into the image, of the shells it is to hold, their conditions, and of the protocol.

    An archive's copy of the files lies in another folder, and may be of a time when there were fewer `sources`.
    """
    shells = {
        shell.name: [
            *(shell.argv, shell.packages, shell.version_command),
            {
                beside.name: [beside.unix_tools, beside.removed_arguments, beside.home_files]
                for beside in shell.conditions
            },
        ]
        for shell in SHELLS.values()
    }
    files = {name: sha256_file(folder / name) for name in sources}
    return sha256(canonical_json({"protocol": PROTOCOL, "shells": shells} | files))


def runner_sha256(folder: Path = SANDBOX) -> str:
    """What the image says of its runner if that is made of this folder's files; as `identity.digest` computes it."""
    sources = [name for name in SOURCES if name.endswith(".py")]
    return sha256("".join(sorted(f"{sha256_file(folder / name)}  {name}\n" for name in sources)))


def image_packages() -> list[str]:
    """The Debian packages of the image, sorted: those of the list, and those of every shell."""
    return sorted({*_listed("packages.txt"), *shell_packages()})


def shell_packages() -> list[str]:
    """The Debian packages that the shells need."""
    return [package for shell in SHELLS.values() for package in shell.packages]


def build_packages() -> list[str]:
    """The Debian packages that the helper's compiler needs, sorted."""
    return sorted(_listed("packages-build.txt"))


def _listed(name: str) -> list[str]:
    return (SANDBOX / name).read_text(encoding="utf-8").split()


def image_tag(powershell: str | None) -> str:
    """The image's name: the same content and PowerShell archive give the same one."""
    return f"{REPOSITORY}:{sha256(f'{content_sha256()} {powershell}')[:12]}"


def base_tag(packages: Sequence[str]) -> str:
    """The name of a base made here from these packages."""
    return f"{REPOSITORY}-base:{sha256(chr(10).join([*packages, *MMDEBSTRAP_OPTIONS]))[:12]}"
