"""The sandbox image: found by the name of its content, or built, with what it holds written on its labels."""

from __future__ import annotations

import io
import json
from contextlib import suppress

import docker.errors

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.file_lock import file_lock
from fluency.common.files import sha256
from fluency.common.paths import CACHE, SANDBOX
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS
from fluency.execution.sandbox import powershell
from fluency.execution.sandbox.base_image import ensure_base
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.image_build import context, run_build
from fluency.execution.sandbox.image_cleanup import CHECKOUT, remove_older
from fluency.execution.sandbox.image_content import REPOSITORY, content_sha256, image_tag, runner_sha256, shell_packages
from fluency.execution.sandbox.image_probe import image_identity, packages_sha256, shell_versions
from fluency.execution.sandbox.shared_image import keep_image, load_image
from fluency.execution.sandbox.start_engine import ensure_engine

LABEL = "agent-shell-sandbox."
LOCK = CACHE / f"image-{sha256(str(SANDBOX))[:8]}.lock"  # two runs at once build one image


def ensure_image(*, engine: Engine | None = None, rebuild: bool = False) -> ImageInfo:
    """The image of this content and PowerShell archive; built if there is none yet, or if `rebuild`.

    On a cluster it is kept in the shared folder and taken from there.
    """
    engine = engine or ensure_engine()
    source = powershell.powershell_source()
    tag = image_tag(source)
    if not rebuild and (found := find_image(engine, tag)):
        return found
    with file_lock(LOCK, lambda _: log_line("another run is building the image: waiting for it")):
        if not rebuild and (found := find_image(engine, tag)):
            return found
        if not rebuild and load_image(engine, tag) and (found := find_image(engine, tag)):
            return found
        built = _build(engine, tag, source)
        keep_image(engine, tag)
        return built


def find_image(engine: Engine, tag: str) -> ImageInfo | None:
    """The description of an image by its labels; None if it is not there."""
    try:
        found = engine.client().inspect_image(tag)
    except docker.errors.ImageNotFound:
        return None
    labels = {key.removeprefix(LABEL): value for key, value in (found["Config"].get("Labels") or {}).items()}
    identity = json.loads(labels.get("identity", "{}"))
    if (labels.get("content"), identity.get("runner")) != (content_sha256(), runner_sha256()):
        return None
    archives, unofficial = powershell.origin(labels.get("powershell-source", ""), found["Architecture"])
    return ImageInfo(
        image_id=found["Id"],
        content_sha256=labels["content"],
        base=labels["base"],
        architecture=found["Architecture"],
        shells={name: labels.get(f"version.{name}") for name in SHELLS},
        packages_sha256=labels["packages"],
        archives=archives,
        identity=identity,
        unofficial=unofficial,
    )


def why_missing(engine: Engine, image: ImageInfo, shell: str) -> str | None:
    """Why an image holds no such shell; None if it does."""
    if image.shells.get(shell):
        return None
    labels = engine.client().inspect_image(image.image_id)["Config"].get("Labels") or {}
    return labels.get(f"{LABEL}missing.{shell}") or "the image gives no reason"


def build_arguments() -> dict[str, str]:
    """What the Dockerfile is told of the shells; its own defaults are the same."""
    programs = (f"{shell.name}={shell.argv[0]}" for shell in SHELLS.values())
    return {"SHELLS": " ".join(programs), "SHELL_PACKAGES": " ".join(shell_packages())}


def _build(engine: Engine, tag: str, source: str | None) -> ImageInfo:
    log_line(f"building the sandbox image {tag}")
    base = ensure_base(engine)
    way, missing = powershell.build_argument(source)
    arguments = {
        "BASE": base.image,
        "BUILD_BASE": base.build_image,
        "PACKAGES": "ready" if base.ready else "apt",
        "POWERSHELL": way,
        **build_arguments(),
    }
    interim = f"{REPOSITORY}:building-{tag.partition(':')[2]}"
    try:
        with context(source) as files:
            run_build(engine, tag=interim, fileobj=files, custom_context=True, buildargs=arguments)
        versions = shell_versions(engine, interim, [shell for name, shell in SHELLS.items() if name not in missing])
        held = [f"{shell.short_title} {versions.get(name) or 'missing'}" for name, shell in SHELLS.items()]
        log_line(f"shells of the image: {', '.join(held)}")
        labels = {
            "content": content_sha256(),
            "base": base.described,
            "packages": packages_sha256(engine, interim),
            "identity": canonical_json(image_identity(engine, interim)),
            "powershell-source": source or way,
            "checkout": CHECKOUT,
            **{f"version.{name}": version for name, version in versions.items()},
            **{f"missing.{name}": why for name, why in missing.items()},
        }
        # Labels that hold what is inside can only be put on once it is inside.
        run_build(
            engine,
            tag=tag,
            fileobj=io.BytesIO(f"FROM {interim}\n".encode()),
            labels={f"{LABEL}{key}": value for key, value in labels.items()},
        )
    finally:
        with suppress(docker.errors.APIError):  # it may never have been made
            engine.patient_client().remove_image(interim, noprune=True)
    found = find_image(engine, tag)
    if not found:
        raise SandboxError(
            "the image is not there after its build", where=tag, hint="`make doctor` looks at the engine"
        )
    remove_older(engine, tag)
    return found
