"""Signatures of archives by OpenSSH, in a file beside the archive: `<archive>.sig`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from fluency.common.errors import UserError

NAMESPACE = "agent-shell-fluency-eval"
"""A signature is for one purpose: one made for this cannot pass for another, nor the reverse."""


def signature_of(archive: Path) -> Path:
    """Where an archive's signature stands."""
    return archive.with_name(f"{archive.name}.sig")


def sign(archive: Path, key: Path) -> Path:
    """Sign an archive with an SSH key (a public one if an agent holds the private) and return the signature's path."""
    made = signature_of(archive)
    made.unlink(missing_ok=True)
    run = _ssh_keygen(["-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(archive)])
    if run.returncode or not made.is_file():
        raise UserError(
            f"ssh-keygen did not sign it: {_last(run)}",
            where=f"SIGN={key}",
            hint="name an SSH key, for example SIGN=~/.ssh/id_ed25519; `ssh-keygen -t ed25519` makes one",
        )
    return made


def signer_of(archive: Path, signers: Path) -> str | None:
    """Who of the allowed signers signed the archive as it is, by name; None if nobody of them did.

    `signers` is an allowed_signers file of OpenSSH. UserError where there is no signature, or no such file.
    """
    made = signature_of(archive)
    for path, what in ((made, "there is no signature"), (signers, "there is no file of allowed signers")):
        if not path.is_file():
            raise UserError(what, where=str(path), hint="docs/archive.md says how an archive is signed and checked")
    found = _ssh_keygen(["-Y", "find-principals", "-s", str(made), "-f", str(signers)])
    for name in found.stdout.splitlines() if found.returncode == 0 else []:
        asked = ["-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", name, "-s", str(made)]
        if _ssh_keygen(asked, archive).returncode == 0:
            return name
    return None


def _ssh_keygen(arguments: Sequence[str], standard_input: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        with (standard_input or Path("/dev/null")).open("rb") as source:
            command = ["ssh-keygen", *arguments]
            return subprocess.run(command, stdin=source, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise UserError(
            "ssh-keygen is not there",
            where="PATH",
            hint="install OpenSSH 8.2 or newer (apt-get install openssh-client)",
        ) from None


def _last(run: subprocess.CompletedProcess[str]) -> str:
    return (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
