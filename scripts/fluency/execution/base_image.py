"""The image's base, public or made from Debian packages. And builds, with why one failed."""

import re
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import getproxies_environment

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.files import sha256
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.engine import BUILD_S, Engine, both_ends
from fluency.execution.image_content import REPOSITORY

SUITE = "bookworm"
PUBLIC = f"debian:{SUITE}-slim"
# Without the hook, mmdebstrap leaves the host's resolver and name in the image.
MMDEBSTRAP_OPTIONS = (
    "--aptopt=Acquire::Retries 3",
    "--customize-hook=rm -f $1/etc/resolv.conf $1/etc/hostname",
)
MADE_HERE = f"{REPOSITORY}-base:{sha256(' '.join((SUITE, *MMDEBSTRAP_OPTIONS)))[:12]}"
MAKE_SCRIPT = Path(__file__).with_name("make_base.sh")
PULL_SILENCE_S = 40
WHERE = "sandbox image"


def ensure_base(engine: Engine) -> str:
    """The tag of the public base if it is there or can be pulled.

    Else of one made by mmdebstrap, and kept.
    """
    for tag in (PUBLIC, MADE_HERE):
        with suppress(docker.errors.ImageNotFound):
            engine.client().inspect_image(tag)
            return tag
    log_line(f"pulling {PUBLIC} (a quarter of a minute)")
    try:
        client = engine.client(timeout=PULL_SILENCE_S)
        for line in client.pull(PUBLIC, stream=True, decode=True, auth_config={}):
            if "error" in line:
                raise docker.errors.APIError(line["error"])
        return PUBLIC
    except (docker.errors.APIError, OSError):  # not found, refused or silent
        log_line(
            f"no registry gives {PUBLIC}: making a base from Debian packages (a minute or two)"
        )
    _make_base(engine)
    return MADE_HERE


def _make_base(engine: Engine) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="base-") as folder:
        tar = Path(folder) / "base.tar"
        command = [str(MAKE_SCRIPT), *MMDEBSTRAP_OPTIONS, SUITE, str(tar)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            what = f"mmdebstrap could not make the base: {both_ends(done.stderr[-300:])}"
            hint = "check the free disk space and the Debian mirror (`apt-get update`)"
            raise SandboxError(what, where=WHERE, hint=hint)
        (Path(folder) / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        run_build(engine, tag=MADE_HERE, path=folder)


def run_build(engine: Engine, *, buildargs: dict[str, str] | None = None, **options: Any) -> None:
    """One build with the options of docker's client; SandboxError says why it failed."""
    proxies = {f"{name}_proxy": value for name, value in getproxies_environment().items()}
    options |= {"decode": True, "rm": True, "forcerm": True, "network_mode": "host"}
    output: list[str] = []
    try:
        client = engine.client(timeout=BUILD_S)
        for line in client.build(buildargs=proxies | (buildargs or {}), **options):
            if "error" in line:
                raise _build_error(line["error"], output)
            # The engine colours what a step writes to standard error.
            said = re.sub("\x1b\\[[0-9;]*m", "", line.get("stream", ""))
            output = [*output, *said.splitlines()][-20:]
    except (docker.errors.DockerException, OSError) as error:
        raise _build_error(both_ends(error), output) from None


def _build_error(error: str, output: list[str]) -> SandboxError:
    """`output`: the last lines of the build."""
    last = " | ".join(line.strip() for line in output[-4:])
    what, hint = f"the build failed: {both_ends(error)}", f"the last lines of the build: {last}"
    if not last:
        hint = "the engine's log may say more; `make doctor` tries the engine"
    if "no space left" in " ".join([error, *output]).lower():
        what = "the disk is full"
        hint = "the build needs 2 GB for the engine; `docker system prune` frees some"
    # Exit codes of the Dockerfile's step of a release, as Docker and Podman name them.
    elif re.search(r"(?:non-zero code:|exit status) 6[5-9]$", error):
        what = f"the release could not be installed: {last}"
        hint = "run again; `make doctor` says how else to have it"
    return SandboxError(what, where=WHERE, hint=hint)
