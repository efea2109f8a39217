"""The sandbox image: found by the name of its content, or built, with what it holds written on its labels."""

from __future__ import annotations

import fcntl
import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fluency.errors import SandboxError
from fluency.files import sha256
from fluency.paths import CACHE, SANDBOX
from fluency.records import ImageInfo
from fluency.sandbox.base import ensure_base
from fluency.sandbox.content import REPOSITORY, SOURCES, content_sha256, image_tag
from fluency.sandbox.engine import Engine
from fluency.sandbox.powershell import HOW, archive_path, can_download, powershell_source
from fluency.sandbox.start_engine import ensure_engine

Say = Callable[[str], object]
WHERE = "sandbox image"
LABEL = "agent-shell-sandbox."
# What is said of the Dockerfile's steps, by a mark in their text.
STEPS = {
    "build-packages": "the compiler for the helper processes",
    "gcc -O2": "compiling the helper",
    "image-packages": "the tools: shells' commands, curl, jq, the runner's Python",
    "unpack-powershell": "PowerShell",
    "finish.sh &&": "users, PATH, the runner",
}
# Exit codes of the Dockerfile's PowerShell step.
BUILD_FAILURES = {
    65: ("there is no PowerShell release for this processor", HOW),
    66: ("the download of PowerShell broke off", f"run again, or {HOW}"),
    67: ("the downloaded PowerShell archive has a wrong SHA-256", f"do not use it; run again, or {HOW}"),
    68: ("the PowerShell archive is damaged", HOW),
    69: ("the PowerShell archive holds no pwsh", HOW),
}


def ensure_image(say: Say = print, *, engine: Engine | None = None, rebuild: bool = False) -> ImageInfo:
    """The image of this content and PowerShell archive; built if there is none yet, or if `rebuild`."""
    engine = engine or ensure_engine(say)
    source = powershell_source()
    tag = image_tag(source)
    if not rebuild and (found := find_image(engine, tag)):
        return found
    with _alone(say):
        if not rebuild and (found := find_image(engine, tag)):
            return found
        return _build(engine, tag, source, say)


def find_image(engine: Engine, tag: str) -> ImageInfo | None:
    """The description of an image by its labels; None if it is not there."""
    import docker

    try:
        found = engine.client().inspect_image(tag)
    except docker.errors.ImageNotFound:
        return None
    labels = {key.removeprefix(LABEL): value for key, value in (found["Config"].get("Labels") or {}).items()}
    if labels.get("content") != content_sha256():
        return None
    return ImageInfo(
        image_id=found["Id"],
        content_sha256=labels["content"],
        base=labels["base"],
        architecture=found["Architecture"],
        shells={"bash": labels["bash"], "pwsh": labels.get("pwsh") or None},
        packages_sha256=labels["packages"],
    )


def why_no_powershell(engine: Engine, tag: str) -> str:
    """The reason an image without PowerShell gives."""
    labels = engine.client().inspect_image(tag)["Config"].get("Labels") or {}
    return labels.get(f"{LABEL}pwsh-absent") or "the image gives no reason"


def _build(engine: Engine, tag: str, source: str | None, say: Say) -> ImageInfo:
    say(f"building the sandbox image {tag}")
    base = ensure_base(engine, say)
    absent = None if source else can_download()
    way = "given" if source else "none" if absent else "download"
    if absent:
        say(f"building without PowerShell: {absent}; to have it, {HOW}")
    if source and source not in pinned():
        say("the PowerShell archive is not the pinned release; the image's label and every record tell its version")
    arguments = {
        "BASE": base.image,
        "BUILD_BASE": base.build_image,
        "PACKAGES": "ready" if base.ready else "apt",
        "POWERSHELL": way,
    }
    interim = f"{REPOSITORY}:building-{tag.partition(':')[2]}"
    try:
        with _context(source) as context:
            _run_build(engine, say, tag=interim, fileobj=context, custom_context=True, buildargs=arguments)
        facts = _look_inside(engine, interim, powershell=way != "none")
        say(
            f"the image has bash {facts['bash']}, "
            + (f"PowerShell {facts['pwsh']}" if facts["pwsh"] else "no PowerShell")
        )
        labels = {
            "content": content_sha256(),
            "base": base.described,
            "packages": facts["packages"],
            "bash": facts["bash"],
            "pwsh": facts["pwsh"],
            "pwsh-source": source or way,
            "pwsh-absent": absent or "",
        }
        # Labels that hold what is inside can only be put on once it is inside.
        _run_build(
            engine,
            lambda _: None,
            tag=tag,
            fileobj=io.BytesIO(f"FROM {interim}\n".encode()),
            labels={f"{LABEL}{key}": value for key, value in labels.items()},
        )
    finally:
        _forget(engine, interim)
    found = find_image(engine, tag)
    if not found:
        raise SandboxError(
            "the image is not there after its build", where=tag, hint="`make doctor` looks at the engine"
        )
    return found


def pinned() -> list[str]:
    """SHA-256 of the release archives that the Dockerfile downloads."""
    text = (SANDBOX / "Dockerfile").read_text(encoding="utf-8")
    return re.findall(r"^ARG POWERSHELL_SHA256_\w+=([0-9a-f]{64})$", text, re.MULTILINE)


def _run_build(engine: Engine, say: Say, **options: Any) -> None:
    import docker

    client = engine.patient_client()
    said: list[str] = []
    try:
        for line in client.build(decode=True, rm=True, forcerm=True, network_mode="host", **options):
            if "error" in line:
                code = (line.get("errorDetail") or {}).get("code")
                raise _build_error(code, line["error"], said)
            text = line.get("stream", "").strip()
            said = [*said[-20:], text] if text else said
            if text.startswith("Step ") and (step := next((STEPS[mark] for mark in STEPS if mark in text), None)):
                say(f"  {step}")
    except (docker.errors.APIError, docker.errors.DockerException, OSError) as error:
        raise _build_error(None, str(error), said) from None


def _build_error(code: int | None, error: str, said: list[str]) -> SandboxError:
    if "no space left" in " ".join([error, *said]).lower():
        return SandboxError(
            "the disk is full",
            where=WHERE,
            hint="the build needs 2 GB for the engine; `docker system prune` makes room",
        )
    what, hint = BUILD_FAILURES.get(code or 0, (f"the build failed: {' '.join(error.split())[:300]}", "see above"))
    if what.startswith("the build failed"):
        hint = f"its last words: {' | '.join(said[-3:])[:400]}"
    return SandboxError(what, where=WHERE, hint=hint)


@contextmanager
def _context(source: str | None) -> Iterator[Any]:
    """The build context as a tar: the sandbox's files, and the PowerShell archive if one was given."""
    with tempfile.TemporaryFile(dir=CACHE) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in SOURCES:
                archive.add(SANDBOX / name, arcname=name)
            if source:
                archive.add(archive_path(source), arcname="powershell.tar.gz")
        file.seek(0)
        yield file


LOOK = """
sha256sum < /opt/packages.txt | cut -d' ' -f1
bash -c 'echo "$BASH_VERSION"'
pwsh=/opt/microsoft/powershell/7/pwsh
[ ! -x $pwsh ] || $pwsh -NoProfile -NonInteractive -Command '$PSVersionTable.PSVersion.ToString()'
"""


def _look_inside(engine: Engine, image: str, powershell: bool) -> dict[str, str]:
    """Versions and the hash of the package list, as the image itself tells them."""
    client = engine.patient_client(300)
    created = client.create_container_from_config(
        {
            "Image": image,
            "Entrypoint": ["/bin/sh", "-c", LOOK],
            "Env": [
                "HOME=/tmp",
                "POWERSHELL_TELEMETRY_OPTOUT=1",
                "POWERSHELL_UPDATECHECK=Off",
                "TERM=dumb",
                "NO_COLOR=1",
            ],
            "HostConfig": {"NetworkMode": "none"},
        }
    )["Id"]
    try:
        client.start(created)
        status = client.wait(created)["StatusCode"]
        lines = client.logs(created, stdout=True, stderr=False).decode("utf-8", "replace").split()
        errors = client.logs(created, stdout=False, stderr=True).decode("utf-8", "replace")
    finally:
        client.remove_container(created, force=True)
    if powershell and (status or len(lines) < 3):
        why = " ".join(errors.split())[:200] or f"exit code {status}"
        raise SandboxError(f"PowerShell does not run in the image: {why}", where=WHERE, hint=HOW)
    if len(lines) < 2:
        raise SandboxError(f"bash does not run in the image: {errors[:200]}", where=WHERE, hint="`make doctor`")
    return {"packages": lines[0], "bash": lines[1], "pwsh": lines[2] if powershell else ""}


def _forget(engine: Engine, tag: str) -> None:
    import docker

    with suppress(docker.errors.APIError):  # it may never have been made
        engine.patient_client().remove_image(tag, noprune=True)


@contextmanager
def _alone(say: Say) -> Iterator[None]:
    """Two runs at once build one image: the second waits for the first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"image-{sha256(str(SANDBOX))[:8]}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building the image: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
