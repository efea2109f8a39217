"""The sandbox image: found by the name of its content, or built, with what it holds written on its labels."""

from __future__ import annotations

import io
from contextlib import suppress

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.file_lock import file_lock
from fluency.common.files import sha256
from fluency.common.paths import CACHE, SANDBOX
from fluency.common.terminal import Say, say
from fluency.core.records import ImageInfo
from fluency.execution.sandbox.base_image import ensure_base
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.image_build import context, pinned, run_build
from fluency.execution.sandbox.image_cleanup import CHECKOUT, remove_older
from fluency.execution.sandbox.image_content import REPOSITORY, content_sha256, image_tag
from fluency.execution.sandbox.image_probe import look_inside
from fluency.execution.sandbox.powershell import HOW, can_download, powershell_source
from fluency.execution.sandbox.start_engine import ensure_engine

LABEL = "agent-shell-sandbox."
LOCK = CACHE / f"image-{sha256(str(SANDBOX))[:8]}.lock"  # two runs at once build one image


def ensure_image(say: Say = say, *, engine: Engine | None = None, rebuild: bool = False) -> ImageInfo:
    """The image of this content and PowerShell archive; built if there is none yet, or if `rebuild`."""
    engine = engine or ensure_engine(say)
    source = powershell_source()
    tag = image_tag(source)
    if not rebuild and (found := find_image(engine, tag)):
        return found
    with file_lock(LOCK, lambda _: say("another run is building the image: waiting for it")):
        if not rebuild and (found := find_image(engine, tag)):
            return found
        return _build(engine, tag, source, say)


def find_image(engine: Engine, tag: str) -> ImageInfo | None:
    """The description of an image by its labels; None if it is not there."""
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
        with context(source) as files:
            run_build(engine, say, tag=interim, fileobj=files, custom_context=True, buildargs=arguments)
        facts = look_inside(engine, interim, powershell=way != "none")
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
            "checkout": CHECKOUT,
        }
        # Labels that hold what is inside can only be put on once it is inside.
        run_build(
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
    remove_older(engine, tag)
    return found


def _forget(engine: Engine, tag: str) -> None:
    with suppress(docker.errors.APIError):  # it may never have been made
        engine.patient_client().remove_image(tag, noprune=True)
