"""The sandbox image: found, built, probed, shared, exported."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.files import atomic_file, read_json, sha256
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE, RESULTS, SANDBOX
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS
from fluency.execution import powershell
from fluency.execution.base_image import PUBLIC, SUITE, WHERE, ensure_base, run_build
from fluency.execution.container import LABELS, remove, run_container
from fluency.execution.engine import BUILD_S, Engine, both_ends, ensure_engine
from fluency.execution.image_content import REPOSITORY, SOURCES, content_sha256, image_tag
from fluency.execution.powershell import NAME, archive_path, can_download

PROBE_S = 300
PROBE = '"$@" && echo "$0" || echo "exit code $?" >&2'
PROBE_END = "it ran"
PROBE_VARIABLES = [
    "HOME=/tmp",
    "POWERSHELL_TELEMETRY_OPTOUT=1",
    "POWERSHELL_UPDATECHECK=Off",
    "TERM=dumb",
    "NO_COLOR=1",
]
LABEL = "agent-shell-sandbox."
CHECKOUT_LABEL = f"{LABEL}checkout"
# A hash, because the path would show the user's name to others with the image.
CHECKOUT_ID = sha256(str(SANDBOX))[:12]
LOCK = CACHE / f"image-{CHECKOUT_ID[:8]}.lock"  # two runs at once build one image
UNUSED_AFTER = "24h"
FOLDER = CACHE / "images"
"""Where the nodes of a cluster find the image."""


def ensure_image(*, engine: Engine | None = None, rebuild: bool = False) -> ImageInfo:
    """The image of this content and PowerShell archive; built if it is missing, or if `rebuild`.

    On a cluster it is kept in the shared folder and taken from there.
    """
    engine = engine or ensure_engine()
    source = powershell.powershell_source()
    tag = image_tag(source)
    if not rebuild and (found := find_image(engine, tag)):
        return found
    with file_lock(LOCK, lambda _: log_line("another run is building the image: waiting for it")):
        if not rebuild:
            found = find_image(engine, tag)
            if not found and load_image(engine, tag):
                found = find_image(engine, tag)
            if found:
                return found
        built = _build(engine, tag, source)
        keep_image(engine, tag)
        return built


def find_image(engine: Engine, tag: str) -> ImageInfo | None:
    """The description of an image by its labels; None if it is not there or of other content."""
    try:
        found = engine.client().inspect_image(tag)
    except docker.errors.ImageNotFound:
        return None
    labels = {
        key.removeprefix(LABEL): value
        for key, value in (found["Config"].get("Labels") or {}).items()
    }
    if labels.get("content") != content_sha256():
        return None
    archives, unofficial = powershell.archive_origin(
        labels.get("powershell-source", ""), found["Architecture"]
    )
    return ImageInfo(
        image_id=found["Id"],
        content_sha256=labels["content"],
        base=labels["base"],
        architecture=found["Architecture"],
        shells={name: labels.get(f"version.{name}") for name in SHELLS},
        packages_sha256=labels["packages"],
        archives=archives,
        unofficial=unofficial,
    )


def why_missing(engine: Engine, image: ImageInfo, shell: str) -> str | None:
    """Why an image holds no such shell; None if it does."""
    if image.shells.get(shell):
        return None
    labels = engine.client().inspect_image(image.image_id)["Config"].get("Labels") or {}
    return labels.get(f"{LABEL}missing.{shell}") or "the image gives no reason"


def build_arguments() -> dict[str, str]:
    """The Dockerfile's arguments about shells; its defaults are the same."""
    programs = (f"{shell.name}={shell.argv[0]}" for shell in SHELLS.values())
    packages = (package for shell in SHELLS.values() for package in shell.packages)
    return {"SHELLS": " ".join(programs), "SHELL_PACKAGES": " ".join(packages)}


@contextmanager
def _build_context(source: str | None) -> Iterator[Any]:
    """A tar of the sandbox's files, and of the PowerShell archive if one was given."""
    with tempfile.TemporaryFile(dir=CACHE) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in SOURCES:
                archive.add(SANDBOX / name, arcname=name)
            if source:
                archive.add(archive_path(source), arcname="powershell.tar.gz")
        file.seek(0)
        yield file


def _build(engine: Engine, tag: str, source: str | None) -> ImageInfo:
    log_line("building the sandbox image (two to three minutes)")
    base = ensure_base(engine)
    way, missing = powershell.build_argument(source)
    arguments = {"BASE": base, "POWERSHELL": way, **build_arguments()}
    interim = f"{REPOSITORY}-building:{tag.partition(':')[2]}"
    labels = {
        "content": content_sha256(),
        "base": base if base == PUBLIC else f"mmdebstrap {SUITE}",
        "powershell-source": source or way,
        "checkout": CHECKOUT_ID,
        **{f"missing.{name}": why for name, why in missing.items()},
    }
    try:
        with _build_context(source) as files:
            run_build(engine, tag=interim, fileobj=files, custom_context=True, buildargs=arguments)
        for name, shell in SHELLS.items():
            if name not in missing:
                command = (*shell.argv, shell.version_command)
                labels[f"version.{name}"] = _probe(engine, interim, shell.short_title, *command)
        digest = _probe(engine, interim, "sha256sum", "/usr/bin/sha256sum", "/opt/packages.txt")
        labels["packages"] = digest.split()[0]
        # The labels say what is inside, which is known only after the first build.
        labels = {f"{LABEL}{key}": value for key, value in labels.items()}
        run_build(engine, tag=tag, fileobj=io.BytesIO(f"FROM {interim}\n".encode()), labels=labels)
    finally:
        with suppress(docker.errors.APIError):  # it may never have been made
            engine.client(timeout=BUILD_S).remove_image(interim, noprune=True)
    found = find_image(engine, tag)
    assert found is not None, "it has just been built"
    remove_older(engine, found)
    return found


def _probe(engine: Engine, image: str, title: str, *argv: str) -> str:
    """Standard output of a program in a container without network; SandboxError if its exit code is not 0."""
    config = {
        "Image": image,
        # By way of sh, for which a program that cannot be started is one that fails.
        "Entrypoint": ["/bin/sh", "-c", PROBE, PROBE_END, *argv],
        "Env": PROBE_VARIABLES,
        "Labels": LABELS,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": {"NetworkMode": "none", "AutoRemove": True},
    }
    session = run_container(engine, config, b"", 1 << 20, PROBE_S)
    if session.failure is not None:
        remove(engine, session.container)
        raise session.failure
    output, _, end = session.output.decode("utf-8", "replace").strip().rpartition("\n")
    if end != PROBE_END:
        why = " ".join(session.errors.decode("utf-8", "replace").split())[:200]
        what = f"{title} does not run in the image: {why}"
        hint = "`make image` with another archive; `make doctor` says what the image has"
        raise SandboxError(what, where=WHERE, hint=hint)
    return output.strip()


def remove_older(engine: Engine, current: ImageInfo, checkout: str = CHECKOUT_ID) -> None:
    """Remove a checkout's images of other content that are older than a day and that no container uses."""
    filters = {
        "dangling": False,
        "until": UNUSED_AFTER,
        "label": f"{CHECKOUT_LABEL}={checkout}",
        "label!": f"{LABEL}content={current.content_sha256}",
    }
    with suppress(docker.errors.DockerException, OSError):
        engine.client(timeout=120).prune_images(filters)


def shared_image_path(tag: str, folder: Path = FOLDER) -> Path:
    """Where the image of this name is kept in the shared folder."""
    return folder / f"{tag.replace(':', '-')}.tar"


def keep_image(engine: Engine, tag: str, folder: Path = FOLDER) -> None:
    """Write the image into the shared folder, if there is one that lacks it, and remove others from it."""
    path = shared_image_path(tag, folder)
    if not folder.is_dir() or path.exists():
        return
    log_line(f"saving the image for the other nodes: {path}")
    save_image(engine, tag, path)
    for other in folder.glob("*.tar"):
        if other != path:
            other.unlink(missing_ok=True)


def load_image(engine: Engine, tag: str, folder: Path = FOLDER) -> bool:
    """Load the image from the shared folder; False if it is not there, SandboxError if the engine refuses it."""
    path = shared_image_path(tag, folder)
    if not path.exists():
        return False
    log_line(f"loading the image {tag} from {path}")
    try:
        with path.open("rb") as file:
            for line in engine.client(timeout=BUILD_S).load_image(file):
                if "error" in line:
                    raise docker.errors.APIError(line["error"])
    except (docker.errors.APIError, OSError) as error:
        what = f"the engine does not load the image: {both_ends(error)}"
        hint = "delete the file, then the next run builds the image and saves it again"
        raise SandboxError(what, where=str(path), hint=hint) from None
    return True


def save_image(engine: Engine, name: str, path: Path) -> None:
    """Write an image as `docker save` does; SandboxError if the engine does not have it."""
    try:
        with atomic_file(path) as file:
            for piece in engine.client(timeout=BUILD_S).get_image(name):
                file.write(piece)
    except docker.errors.ImageNotFound:
        hint = "archive without IMAGE=1; the Dockerfile and the package list are in the archive either way"
        raise SandboxError("the engine no longer has this image", where=name, hint=hint) from None


def main() -> int:
    """Get the image ready and print the version of each shell in it."""
    info = ensure_image()
    if not info.shells.get(NAME) and can_download() is None:
        log_line("the PowerShell release can be downloaded now: building the image again with it")
        info = ensure_image(rebuild=True)
    forget_other_image(info, RESULTS / "image.json")
    for name, shell in SHELLS.items():
        print(f"{shell.title}: {info.shells.get(name) or 'not in the image'}")
    return 0


def forget_other_image(info: ImageInfo, record: Path) -> None:
    """Remove the record of an image with other shells, so that the next run executes every command in this one."""
    if record.exists() and read_json(record)["image"]["shells"] != info.shells:
        record.unlink()
        log_line(
            "the shells of the image have changed: the next run executes every command again, and asks nothing"
        )
