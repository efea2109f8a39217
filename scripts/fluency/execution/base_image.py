"""The image's base: the public one, or one made from Debian packages. And builds, with why one failed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.files import sha256
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.engine import BUILD_S, Engine, install
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
PULL_SILENCE_S = 40
WHERE = "sandbox image"
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def ensure_base(engine: Engine) -> str:
    """The tag of the public base if it is there or can be pulled, else of one made by mmdebstrap and kept."""
    for tag in (PUBLIC, MADE_HERE):
        try:
            engine.client().inspect_image(tag)
            return tag
        except docker.errors.ImageNotFound:
            continue
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
    if not shutil.which("mmdebstrap"):
        install(
            ["mmdebstrap", "debian-archive-keyring"],
            "mmdebstrap is needed to make the image's base",
        )
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="base-") as folder:
        tar = Path(folder) / "base.tar"
        command = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            *MMDEBSTRAP_OPTIONS,
            SUITE,
            str(tar),
        ]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = [
                line for line in done.stderr.splitlines() if line.startswith(("E:", "dpkg: error"))
            ][:2]
            what = f"mmdebstrap could not make the base: {' '.join(last) or done.stderr[-300:]}"
            hint = "check the free disk space and the Debian mirror (`apt-get update`), then `make image`"
            raise SandboxError(what, where=WHERE, hint=hint)
        client = engine.client(timeout=BUILD_S)
        try:
            answer = client.import_image_from_file(str(tar)).strip().splitlines()
        except (docker.errors.APIError, OSError) as error:
            raise _build_error(None, str(error), []) from None
    last_line = json.loads(answer[-1]) if answer else {}
    if "status" not in last_line:
        raise _build_error(None, last_line.get("error") or "the engine did not import the base", [])
    repository, _, version = MADE_HERE.partition(":")
    client.tag(
        last_line["status"], repository, version
    )  # a separate call: Podman's import takes no tag


def run_build(engine: Engine, *, buildargs: dict[str, str] | None = None, **options: Any) -> None:
    """One build with the options of docker's client; SandboxError says why it failed."""
    arguments = {name: os.environ[name] for name in PROXIES if name in os.environ} | (
        buildargs or {}
    )
    options |= {
        "decode": True,
        "rm": True,
        "forcerm": True,
        "network_mode": "host",
        "buildargs": arguments,
    }
    output: list[str] = []
    try:
        for line in engine.client(timeout=BUILD_S).build(**options):
            if "error" in line:
                # Docker gives the exit code of the failed step, Podman writes it into the message.
                written = re.search(r"exit status (\d+)$", line["error"])
                code = (line.get("errorDetail") or {}).get("code") or (
                    int(written[1]) if written else None
                )
                raise _build_error(code, line["error"], output)
            output = [*output, *COLOUR.sub("", line.get("stream", "")).splitlines()][-20:]
    except (docker.errors.DockerException, OSError) as error:
        raise _build_error(None, str(error), output) from None


def _build_error(code: int | None, error: str, output: list[str]) -> SandboxError:
    """`code`: of the failed step of the Dockerfile; `output`: the last lines of the build."""
    if "no space left" in " ".join([error, *output]).lower():
        hint = "the build needs 2 GB for the engine; `docker system prune` frees some"
        return SandboxError("the disk is full", where=WHERE, hint=hint)
    if code in BUILD_FAILURES:
        what, hint = BUILD_FAILURES[code]
        return SandboxError(what, where=WHERE, hint=hint)
    last = [
        line.strip()
        for line in output
        if line.strip() and not line.startswith(("Removing", " --->"))
    ][-3:]
    what = f"the build failed: {' '.join(error.split())[:300]}"
    return SandboxError(
        what, where=WHERE, hint=f"the last lines of the build: {' | '.join(last)[:400]}"
    )
