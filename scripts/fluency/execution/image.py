"""The sandbox image: found, built, probed, shared, exported."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker.errors
import requests

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.files import atomic_file, read_json, sha256
from fluency.common.locks import file_lock
from fluency.common.paths import CACHE, RESULTS, SANDBOX
from fluency.common.terminal import log_line
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS, Shell
from fluency.execution import container, powershell
from fluency.execution.base_image import WHERE, ensure_base, run_build
from fluency.execution.container import as_sandbox_error, remove
from fluency.execution.engine import BUILD_S, Engine, ensure_engine, first_words
from fluency.execution.image_content import (
    REPOSITORY,
    SOURCES,
    content_sha256,
    image_tag,
    runner_sha256,
    shell_packages,
)
from fluency.execution.powershell import INSTALL_HINT, NAME, archive_path, can_download


@contextmanager
def context(source: str | None) -> Iterator[Any]:
    """The build context as a tar: the sandbox's files, and the PowerShell archive if one was given."""
    with tempfile.TemporaryFile(dir=CACHE) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in SOURCES:
                archive.add(SANDBOX / name, arcname=name)
            if source:
                archive.add(archive_path(source), arcname="powershell.tar.gz")
        file.seek(0)
        yield file


PROBE_S = 300
TELL_IDENTITY = """
import json, sys
sys.path.insert(0, "/opt/fluency")
import identity
print(json.dumps(identity.digests()))
"""
VARIABLES = ["HOME=/tmp", "POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off", "TERM=dumb", "NO_COLOR=1"]


def shell_versions(engine: Engine, image: str, shells: Iterable[Shell]) -> dict[str, str]:
    """Name of each shell -> its version as the shell itself tells it; SandboxError if one does not run."""
    found = {}
    for shell in shells:
        status, output, errors = _run(engine, image, [*shell.argv, shell.version_command])
        if status or not output:
            why = " ".join(errors.split())[:200] or f"exit code {status}"
            hint = INSTALL_HINT if shell.name == NAME else "`make doctor`"
            raise SandboxError(f"{shell.short_title} does not run in the image: {why}", where=WHERE, hint=hint)
        found[shell.name] = output
    return found


def packages_sha256(engine: Engine, image: str) -> str:
    """Of the list of installed packages with their versions."""
    return _run(engine, image, ["/usr/bin/sha256sum", "/opt/packages.txt"])[1].split()[0]


def image_identity(engine: Engine, image: str) -> dict[str, str]:
    """Part -> SHA-256 of what runs, which the runner tells again when the image is used."""
    status, output, errors = _run(engine, image, ["/opt/fluency/python3", "-I", "-S", "-c", TELL_IDENTITY])
    if status:
        raise SandboxError(f"the image cannot hash itself: {errors[-200:]}", where=WHERE, hint="`make doctor`")
    return dict(json.loads(output))


def _run(engine: Engine, image: str, argv: Sequence[str]) -> tuple[int, str, str]:
    """Exit code and both streams of a program in a fresh container without network."""
    client = engine.client(timeout=PROBE_S)
    # By way of sh, which tells of a program that cannot be started as of one that fails.
    entrypoint = ["/bin/sh", "-c", '"$@"', "sh", *argv]
    config = {
        "Image": image,
        "Entrypoint": entrypoint,
        "Env": VARIABLES,
        "Labels": container.LABELS,
        "HostConfig": {"NetworkMode": "none"},
    }
    probe = ""
    try:
        probe = client.create_container_from_config(config)["Id"]
        client.start(probe)
        status = client.wait(probe)["StatusCode"]
        streams = [client.logs(probe, stdout=out, stderr=not out) for out in (True, False)]
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise as_sandbox_error(error, PROBE_S) from None
    finally:
        remove(engine, probe)
    output, errors = (stream.decode("utf-8", "replace").strip() for stream in streams)
    return status, output, errors


CHECKOUT_LABEL = "agent-shell-sandbox.checkout"
# A hash, because the path would tell the user's name to whoever is given the image.
CHECKOUT_ID = sha256(str(SANDBOX))[:12]
KEPT_IMAGES = 3


def remove_older(engine: Engine, current: str, checkout: str = CHECKOUT_ID, kept: int = KEPT_IMAGES) -> list[str]:
    """Remove what this checkout built before, but for the newest `kept` and those that a container uses.

    `current` is the tag that stays whatever its age. Returns the tags that were removed; never raises, since nothing
    depends on it. Bases have another repository, and images of other checkouts another label.
    """
    client, removed = engine.client(timeout=120), []
    with suppress(docker.errors.DockerException, OSError):
        found = client.images(filters={"label": f"{CHECKOUT_LABEL}={checkout}"})
        newest_first = sorted(found, key=lambda image: client.inspect_image(image["Id"])["Created"], reverse=True)
        tags = [tag for image in newest_first for tag in image["RepoTags"] or () if _is_ours(tag)]
        for tag in [tag for tag in tags if _short(tag) != current][max(0, kept - 1) :]:
            with suppress(docker.errors.APIError):  # a container uses it
                client.remove_image(tag)
                removed.append(_short(tag))
    return removed


def _short(tag: str) -> str:
    """Without the registry that Podman puts before every name."""
    return tag.rpartition("/")[2]


def _is_ours(tag: str) -> bool:
    name, _, version = _short(tag).rpartition(":")
    return name == REPOSITORY and not version.startswith("building-")


FOLDER = CACHE / "images"


def shared_image_path(tag: str, folder: Path = FOLDER) -> Path:
    """Where the image of this name is kept."""
    return folder / f"{tag.replace(':', '-')}.tar"


def keep_image(engine: Engine, tag: str, folder: Path = FOLDER) -> None:
    """Write the image into the shared folder, if there is one that lacks it, and drop those of other content."""
    path = shared_image_path(tag, folder)
    if not folder.is_dir() or path.exists():
        return
    log_line(f"keeping the image for the other nodes: {path}")
    with atomic_file(path) as file:
        for piece in engine.client(timeout=BUILD_S).get_image(tag):
            file.write(piece)
    for other in folder.glob("*.tar"):
        if other != path:
            other.unlink(missing_ok=True)


def load_image(engine: Engine, tag: str, folder: Path = FOLDER) -> bool:
    """Take the image from the shared folder; False if it is not there, SandboxError if the engine does not take it."""
    path = shared_image_path(tag, folder)
    if not path.exists():
        return False
    log_line(f"loading the image {tag} from {path}")
    try:
        with path.open("rb") as file:
            for told in engine.client(timeout=BUILD_S).load_image(file):
                if "error" in told:
                    raise docker.errors.APIError(told["error"])
    except (docker.errors.APIError, OSError) as error:
        raise SandboxError(
            f"the engine does not load the image: {first_words(error)}",
            where=str(path),
            hint="delete the file, then the next run builds the image and keeps it anew",
        ) from None
    return True


def save_image(image_id: str, path: Path) -> None:
    """Write an image as `docker save` would; SandboxError if the engine no longer holds it."""
    client = ensure_engine().client(timeout=BUILD_S)
    try:
        with Path(path).open("wb") as stream:
            for piece in client.get_image(image_id):
                stream.write(piece)
    except docker.errors.ImageNotFound:
        raise SandboxError(
            "the engine no longer holds the image the study was measured in",
            where=image_id,
            hint="archive without IMAGE=1; the Dockerfile and the package list are in the archive either way",
        ) from None


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
    archives, unofficial = powershell.archive_origin(labels.get("powershell-source", ""), found["Architecture"])
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
            "checkout": CHECKOUT_ID,
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
            engine.client(timeout=BUILD_S).remove_image(interim, noprune=True)
    found = find_image(engine, tag)
    if not found:
        raise SandboxError(
            "the image is not there after its build", where=tag, hint="`make doctor` looks at the engine"
        )
    remove_older(engine, tag)
    return found


def main() -> int:
    """Make the image ready and print the version of each shell it holds."""
    info = ensure_image()
    if not info.shells.get(NAME) and can_download() is None:
        log_line("the PowerShell release can be fetched now: building the image anew with it")
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
            "the image holds other shells than before: the next run executes every command again, and asks nothing"
        )
