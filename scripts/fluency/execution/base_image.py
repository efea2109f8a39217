"""The image's base: the public one, or one made from Debian packages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.engine import BUILD_S, Engine, first_words, install
from fluency.execution.image_content import MMDEBSTRAP_OPTIONS, base_tag, build_packages, image_packages
from fluency.execution.powershell import BUILD_FAILURES

SUITE = "bookworm"
PUBLIC = f"debian:{SUITE}-slim"
PULL_SILENCE_S = 40
WHERE = "sandbox image"
# What is said of the Dockerfile's steps, by a mark in their text.
STEPS = {
    "build-packages": "the compiler for the helper processes",
    "gcc -O2": "compiling the helper",
    "image-packages": "the tools: shells' commands, curl, jq, the runner's Python",
    "unpack-powershell": "PowerShell",
    "finish.sh &&": "users, PATH, the runner",
}
COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
BUILDERS_OWN = ("--->", "Removing intermediate container")


@dataclass(frozen=True)
class Base:
    """Names of the image's base and of the compiler's; `ready`: the packages of the lists are in them."""

    image: str
    build_image: str
    ready: bool
    described: str


def ensure_base(engine: Engine) -> Base:
    """The public base if it is there or can be pulled, else one made by mmdebstrap, kept for the next build."""
    client = engine.client(timeout=BUILD_S)
    made = [base_tag(packages) for packages, _ in _made_here()]
    if not _exists(client, PUBLIC):
        if all(_exists(client, tag) for tag in made):
            return Base(made[0], made[1], True, f"mmdebstrap {SUITE}")
        log_line(f"pulling {PUBLIC} (a quarter of a minute)")
        try:
            for line in engine.client(timeout=PULL_SILENCE_S).pull(PUBLIC, stream=True, decode=True):
                if "error" in line:
                    raise docker.errors.APIError(line["error"])
        except (docker.errors.APIError, OSError) as error:
            # docker.errors.NotFound, a refused connection, a silent one: all mean "not from there".
            log_line(f"no registry gives {PUBLIC} ({first_words(error)}); making a base from Debian packages instead")
            _make(engine)
            return Base(made[0], made[1], True, f"mmdebstrap {SUITE}")
    return Base(PUBLIC, PUBLIC, False, PUBLIC)


def _make(engine: Engine) -> None:
    if not shutil.which("mmdebstrap"):
        install(["mmdebstrap", "debian-archive-keyring"], "mmdebstrap is needed to make the image's base")
    log_line("mmdebstrap: fetching and unpacking Debian packages (about 70 seconds on two processors)")
    with ThreadPoolExecutor() as pool:
        lacking = [made for made in _made_here() if not _exists(engine.client(), base_tag(made[0]))]
        for future in [pool.submit(_bootstrap, engine, *made) for made in lacking]:
            future.result()


def _made_here() -> list[tuple[list[str], str]]:
    """Packages and mmdebstrap variant of both bases: the image needs a working system, the compiler only its files."""
    return [(image_packages(), "minbase"), (build_packages(), "extract")]


def _bootstrap(engine: Engine, packages: list[str], variant: str) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="base-") as folder:
        tar = Path(folder) / "base.tar"
        options = [
            f"--variant={variant}",
            f"--include={','.join(packages)}",
            "--aptopt=Acquire::Retries 3",
            *MMDEBSTRAP_OPTIONS,
        ]
        done = subprocess.run(
            ["mmdebstrap", "--quiet", *options, SUITE, str(tar)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = [line for line in done.stderr.splitlines() if line.startswith(("E:", "dpkg: error"))][:2]
            raise SandboxError(
                f"mmdebstrap could not make the base: {' '.join(last) or done.stderr[-300:]}",
                where="sandbox image",
                hint="check the disk's room and the Debian mirror (`apt-get update`), then `make image`",
            )
        _import(engine, tar, base_tag(packages))


def _import(engine: Engine, tar: Path, tag: str) -> None:
    """A tar as an image. Named in a step of its own, because Podman's import takes no tag."""
    client = engine.client(timeout=BUILD_S)
    try:
        answer = client.import_image_from_file(str(tar)).strip().splitlines()
    except (docker.errors.APIError, OSError) as error:
        raise build_error(None, str(error), []) from None
    last = json.loads(answer[-1]) if answer else {}
    if "status" not in last:
        raise build_error(None, last.get("error") or "the engine did not import the base", [])
    repository, _, version = tag.partition(":")
    client.tag(last["status"], repository, version)


def _exists(client: docker.APIClient, tag: str) -> bool:
    try:
        client.inspect_image(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


def run_build(engine: Engine, **options: Any) -> None:
    """One build with the options of docker's client; SandboxError says why it failed."""
    client = engine.client(timeout=BUILD_S)
    said: list[str] = []
    try:
        for line in client.build(decode=True, rm=True, forcerm=True, network_mode="host", **options):
            if "error" in line:
                raise build_error(_code(line), line["error"], said)
            text = line.get("stream", "").strip()
            said = [*said[-20:], text] if text else said
            if "step " in text[:20].lower() and (step := next((STEPS[mark] for mark in STEPS if mark in text), None)):
                log_line(f"  {step}")
    except (docker.errors.APIError, docker.errors.DockerException, OSError) as error:
        raise build_error(None, str(error), said) from None


def _code(line: dict[str, Any]) -> int | None:
    """The exit code of the step that failed: Docker gives it, Podman writes it into the sentence."""
    told = (line.get("errorDetail") or {}).get("code")
    written = re.search(r"exit status (\d+)$", line["error"])
    return told or (int(written[1]) if written else None)


def build_error(code: int | None, error: str, said: list[str]) -> SandboxError:
    """What a failed build means: `code` is that of the Dockerfile's step, `said` the last lines of its output."""
    if "no space left" in " ".join([error, *said]).lower():
        return SandboxError(
            "the disk is full",
            where=WHERE,
            hint="the build needs 2 GB for the engine; `docker system prune` makes room",
        )
    what, hint = BUILD_FAILURES.get(code or 0, (f"the build failed: {' '.join(error.split())[:300]}", "see above"))
    if what.startswith("the build failed"):
        hint = f"its last words: {' | '.join(_words(said)[-3:])[:400]}"
    return SandboxError(what, where=WHERE, hint=hint)


def _words(said: list[str]) -> list[str]:
    """The lines of the step itself, without colours and without what the builder says of its containers."""
    lines = [line.strip() for text in said for line in COLOUR.sub("", text).splitlines()]
    return [line for line in lines if line and not line.startswith(BUILDERS_OWN)]
