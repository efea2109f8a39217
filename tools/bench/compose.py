"""Docker's compose plugin, which Inspect AI's sandbox calls: the machine's own, or the one of Debian's next release.

Nothing is installed: one package is fetched with lists of its own, and its one program is unpacked beside a client
configuration that only the benchmark names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.paths import CACHE

RELEASE = "trixie"
PACKAGE = "docker-compose"
PROGRAM = "usr/libexec/docker/cli-plugins/docker-compose"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
HINT = "install Docker's compose plugin (2.21 or newer) and run again"


def with_compose() -> dict[str, str]:
    """Environment variables under which `docker compose` works; UserError where there is no way to get it."""
    own = {"DOCKER_CONFIG": str(CACHE / "compose")}
    for variables in ({}, own):
        if _works(variables):
            return variables
    target = CACHE / "compose" / "cli-plugins" / "docker-compose"
    target.parent.mkdir(parents=True, exist_ok=True)
    _fetch(target)
    if not _works(own):
        raise UserError("the compose plugin that was fetched does not work", where=str(target), hint=HINT)
    return own


def _works(variables: dict[str, str]) -> bool:
    command = ["docker", "compose", "version"]
    try:
        return subprocess.run(command, capture_output=True, env=os.environ | variables).returncode == 0
    except OSError as error:
        raise UserError("there is no docker command", where="inspect", hint="install Docker's client") from error


def _fetch(target: Path) -> None:
    """The program of Debian's package, from the mirror that this machine's apt uses, checked by Debian's own key."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {_mirror()} {RELEASE} main\n")
        places = {"Etc::sourcelist": "sources.list", "State::lists": "lists", "Cache": "cache"}
        apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root"]
        apt += [word for key, path in places.items() for word in ("-o", f"Dir::{key}={folder / path}")]
        try:
            for command in ([*apt, "update"], [*apt, "download", PACKAGE]):
                subprocess.run(command, check=True, capture_output=True, cwd=folder)
            (package,) = folder.glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", package, folder / "out"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError, ValueError) as error:
            raise UserError(f"it cannot be fetched: {error}", where="docker compose", hint=HINT) from None
        shutil.copy(folder / "out" / PROGRAM, target)


def _mirror() -> str:
    """Where this machine gets Debian from."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        lines = []
    found = [line.split()[-1] for line in lines if line.startswith("Debian ") and "security" not in line]
    if not found:
        raise UserError("this machine gets no Debian packages", where="docker compose", hint=HINT)
    return found[0]
