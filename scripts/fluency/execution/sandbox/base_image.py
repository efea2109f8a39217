"""What the image starts from: the public base, or where no registry answers, one made here from Debian packages."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.sandbox.engine import Engine, short
from fluency.execution.sandbox.image_build import build_error
from fluency.execution.sandbox.image_content import MADE_WITH, base_tag, build_packages, image_packages
from fluency.execution.sandbox.start_engine import install

SUITE = "bookworm"
PUBLIC = f"debian:{SUITE}-slim"
PULL_SILENCE_S = 40


@dataclass(frozen=True)
class Base:
    """Names of the image's base and of the compiler's; `ready`: the packages of the lists are in them."""

    image: str
    build_image: str
    ready: bool
    described: str


def ensure_base(engine: Engine) -> Base:
    """The public base if it is there or can be pulled, else one made by mmdebstrap, kept for the next build."""
    client = engine.patient_client()
    made = [base_tag(packages) for packages, _ in _made_here()]
    if not _exists(client, PUBLIC):
        if all(_exists(client, tag) for tag in made):
            return Base(made[0], made[1], True, f"mmdebstrap {SUITE}")
        log_line(f"pulling {PUBLIC} (a quarter of a minute)")
        try:
            for line in engine.patient_client(PULL_SILENCE_S).pull(PUBLIC, stream=True, decode=True):
                if "error" in line:
                    raise docker.errors.APIError(line["error"])
        except (docker.errors.APIError, OSError) as error:
            # docker.errors.NotFound, a refused connection, a silent one: all mean "not from there".
            log_line(f"no registry gives {PUBLIC} ({short(error)}); making a base from Debian packages instead")
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
            *MADE_WITH,
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
    client = engine.patient_client()
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
