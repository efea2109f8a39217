"""The image's base: the public one, or one made from Debian packages. And builds, with why one failed."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.files import sha256
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.engine import BUILD_S, Engine
from fluency.execution.image_content import REPOSITORY
from fluency.execution.powershell import BUILD_FAILURES

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
PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def ensure_base(engine: Engine) -> str:
    """The tag of the public base if it is there or can be pulled, else of one made by mmdebstrap and kept."""
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
            errors = re.findall(r"^(?:E:|dpkg: error).*", done.stderr, re.MULTILINE)[:2]
            what = f"mmdebstrap could not make the base: {' '.join(errors) or done.stderr[-300:]}"
            hint = "check the free disk space and the Debian mirror (`apt-get update`), then `make image`"
            raise SandboxError(what, where=WHERE, hint=hint)
        (Path(folder) / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        run_build(engine, tag=MADE_HERE, path=folder)


def run_build(engine: Engine, *, buildargs: dict[str, str] | None = None, **options: Any) -> None:
    """One build with the options of docker's client; SandboxError says why it failed."""
    proxies = {name: os.environ[name] for name in PROXIES if name in os.environ}
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
        raise _build_error(str(error), output) from None


def _build_error(error: str, output: list[str]) -> SandboxError:
    """`output`: the last lines of the build."""
    # Of the failed step of the Dockerfile; by Docker, by Podman.
    code = re.search(r"(?:non-zero code:|exit status) (\d+)$", error)
    if "no space left" in " ".join([error, *output]).lower():
        what = "the disk is full"
        hint = "the build needs 2 GB for the engine; `docker system prune` frees some"
    elif code and int(code[1]) in BUILD_FAILURES:
        what, hint = BUILD_FAILURES[int(code[1])]
    else:
        noise = ("Removing", " --->")
        last = [line.strip() for line in output if line.strip() and not line.startswith(noise)]
        what = f"the build failed: {' '.join(error.split())[:300]}"
        hint = f"the last lines of the build: {' | '.join(last[-3:])[:400]}"
    return SandboxError(what, where=WHERE, hint=hint)
