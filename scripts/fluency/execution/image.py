"""The sandbox image: found, built, probed, shared, exported."""

from __future__ import annotations

import io
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

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
from fluency.execution.container import LABELS, remove
from fluency.execution.engine import BUILD_S, Engine, both_ends, ensure_engine
from fluency.execution.image_content import REPOSITORY, SOURCES, content_sha256, image_tag
from fluency.execution.powershell import NAME, archive_path, can_download

PROBE_S = 300
PROBE_VARIABLES = [
    "HOME=/tmp",
    "POWERSHELL_TELEMETRY_OPTOUT=1",
    "POWERSHELL_UPDATECHECK=Off",
    "TERM=dumb",
    "NO_COLOR=1",
]
LABEL = "agent-shell-sandbox."
# A hash, because the path would show the user's name to others with the image.
CHECKOUT_ID = sha256(str(SANDBOX))[:12]
LOCK = CACHE / f"image-{CHECKOUT_ID[:8]}.lock"  # two runs at once build one image
UNUSED_AFTER = "24h"
FOLDER = CACHE / "images"
"""Where the nodes of a cluster find the image."""


def ensure_image(engine: Engine | None = None, rebuild: bool = False) -> ImageInfo:
    """The image of this content and PowerShell archive; built if it is missing, or if `rebuild`.

    On a cluster it is kept in the shared folder and taken from there.
    """
    engine = engine or ensure_engine()
    source = powershell.powershell_source()
    tag = image_tag(source)
    with file_lock(LOCK, lambda _: log_line("another run makes the image ready: waiting for it")):
        found = None if rebuild else find_image(engine, tag)
        if not found and not rebuild and load_image(engine, tag):
            found = find_image(engine, tag)
        if not found:
            _build(engine, tag, source)
            remove_older(engine)
            keep_image(engine, tag)
            found = find_image(engine, tag)
            assert found, "it was just built"
        return found


def find_image(engine: Engine, tag: str) -> ImageInfo | None:
    """The description of an image by its labels; None if it is not there."""
    try:
        found = engine.client().inspect_image(tag)
    except docker.errors.ImageNotFound:
        return None
    given, architecture = found["Config"]["Labels"], found["Architecture"]
    labels = {key.removeprefix(LABEL): value for key, value in given.items()}
    archives, unofficial = powershell.archive_origin(labels["powershell-source"], architecture)
    return ImageInfo(
        image_id=found["Id"],
        content_sha256=labels["content"],
        base=labels["base"],
        architecture=architecture,
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


def _build(engine: Engine, tag: str, source: str | None) -> None:
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
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            for name in SOURCES:
                shutil.copy(SANDBOX / name, folder)
            if source:
                shutil.copy(archive_path(source), f"{folder}/powershell.tar.gz")
            run_build(engine, tag=interim, path=folder, buildargs=arguments)
        for name, shell in SHELLS.items():
            if name not in missing:
                command = (*shell.argv, shell.version_command)
                labels[f"version.{name}"] = _probe(engine, interim, *command)
        digest = _probe(engine, interim, "/usr/bin/sha256sum", "/opt/packages.txt")
        labels["packages"] = digest.split()[0]
        # The labels say what is inside, which is known only after the first build.
        labels = {f"{LABEL}{key}": value for key, value in labels.items()}
        run_build(engine, tag=tag, fileobj=io.BytesIO(f"FROM {interim}\n".encode()), labels=labels)
    finally:
        with suppress(docker.errors.APIError):  # it may never have been made
            engine.client(timeout=BUILD_S).remove_image(interim, noprune=True)


def _probe(engine: Engine, image: str, *argv: str) -> str:
    """Standard output of a program in a container without network.

    SandboxError if its exit code is not 0.
    """
    config = {
        "Image": image,
        "Entrypoint": argv,
        "Env": PROBE_VARIABLES,
        "Labels": LABELS,
        "HostConfig": {"NetworkMode": "none"},
    }
    client, code = engine.client(timeout=PROBE_S), -1
    container = client.create_container_from_config(config)["Id"]
    try:
        client.start(container)
        code = client.wait(container)["StatusCode"]
        output = client.logs(container, stdout=code == 0, stderr=code != 0)
        said = output.decode("utf-8", "replace").strip()
    except (docker.errors.DockerException, OSError) as error:
        said = both_ends(error)
    finally:
        remove(engine, container)
    if code == 0:
        return said
    what = f"{argv[0]} does not run in the image: {both_ends(said) or f'exit code {code}'}"
    hint = "`make image` with another archive; `make doctor` says what the image has"
    raise SandboxError(what, where=WHERE, hint=hint)


def remove_older(engine: Engine) -> None:
    """Remove this checkout's images of other content.

    Only those that are older than a day and that no container uses.
    """
    filters = {
        "dangling": False,
        "until": UNUSED_AFTER,
        "label": f"{LABEL}checkout={CHECKOUT_ID}",
        "label!": f"{LABEL}content={content_sha256()}",
    }
    with suppress(docker.errors.DockerException, OSError):
        engine.client(timeout=120).prune_images(filters)


def shared_image_path(tag: str) -> Path:
    """Where the image of this name is kept in the shared folder."""
    return FOLDER / f"{tag.replace(':', '-')}.tar"


def keep_image(engine: Engine, tag: str) -> None:
    """Write the image into the shared folder, if there is one that lacks it.

    Others are removed from it.
    """
    path = shared_image_path(tag)
    if not FOLDER.is_dir() or path.exists():
        return
    log_line(f"saving the image for the other nodes: {path}")
    for older in FOLDER.glob("*.tar"):
        older.unlink(missing_ok=True)
    save_image(engine, tag, path)


def load_image(engine: Engine, tag: str) -> bool:
    """Load the image from the shared folder; False if it is not there.

    SandboxError if the engine refuses it.
    """
    path = shared_image_path(tag)
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
        what = "the engine no longer has this image"
        hint = "archive without IMAGE=1; the Dockerfile and the package list are in the archive"
        raise SandboxError(what, where=name, hint=hint) from None


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
    """Remove the record of an image with other shells.

    The next run then executes every command in this one.
    """
    if record.exists() and read_json(record)["image"]["shells"] != info.shells:
        record.unlink()
        log_line("the shells of the image have changed: the next run executes every command again")
