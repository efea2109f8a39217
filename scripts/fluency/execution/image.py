"""The sandbox image: found, built, probed, shared, exported."""

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
from fluency.core.shells import PAGE, SHELLS, Shell
from fluency.core.table import image_path
from fluency.execution.archives import (
    DOWNLOAD,
    NONE,
    archive_for,
    archive_origin,
    archive_path,
    log_source,
    source_of,
    unpack_program,
    why_no_download,
)
from fluency.execution.base_image import PUBLIC, SUITE, WHERE, ensure_base, run_build
from fluency.execution.container import LABELS, remove
from fluency.execution.engine import BUILD_S, Engine, both_ends, ensure_engine
from fluency.execution.image_content import REPOSITORY, SOURCES, content_sha256, shells_in

PROBE_S = 300
PROBE_VARIABLES = [
    "HOME=/tmp",
    "POWERSHELL_TELEMETRY_OPTOUT=1",
    "POWERSHELL_UPDATECHECK=Off",
    "TERM=dumb",
    "NO_COLOR=1",
]
LABEL = "agent-shell-sandbox."
SOURCE = "powershell-source"
"""The label of what the shell's program was taken from, by the name that it began with."""
# A hash, because the path would show the user's name to others with the image.
CHECKOUT_ID = sha256(str(SANDBOX))[:12]
LOCK = CACHE / f"image-{CHECKOUT_ID[:8]}.lock"  # two runs at once build one image
UNUSED_AFTER = "24h"
FOLDER = CACHE / "images"
"""Where the nodes of a cluster find the images."""


def image_tag(shell: str) -> str:
    """The name of a shell's image, by its content and the archive that it was given."""
    content = f"{content_sha256(shells_in(shell))} {archive_for(shell)}"
    return f"{REPOSITORY}:{sha256(content)[:12]}"


def ensure_image(engine: Engine, shell: str, rebuild: bool = False) -> ImageInfo:
    """The image of a shell by its content and archive; built if it is missing, or if `rebuild`.

    On a cluster it is kept in the shared folder and taken from there.
    """
    with file_lock(LOCK, lambda _: log_line("another run makes the image ready: waiting for it")):
        found = None if rebuild else find_image(engine, shell)
        if not found and not rebuild and load_image(engine, shell):
            found = find_image(engine, shell)
        if not found:
            _build(engine, shell)
            remove_older(engine)
            keep_image(engine, shell)
            found = find_image(engine, shell)
            assert found, "it was just built"
        return found


def find_image(engine: Engine, shell: str) -> ImageInfo | None:
    """The description of a shell's image by its labels; None if it is not there."""
    try:
        found = engine.client().inspect_image(image_tag(shell))
    except docker.errors.ImageNotFound:
        return None
    given, architecture = found["Config"]["Labels"], found["Architecture"]
    labels = {key.removeprefix(LABEL): value for key, value in given.items()}
    archives, unofficial = archive_origin(shell, labels[SOURCE], architecture)
    return ImageInfo(
        image_id=found["Id"],
        content_sha256=labels["content"],
        base=labels["base"],
        architecture=architecture,
        shells={name: labels.get(f"version.{name}") for name in shells_in(shell)},
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


def build_arguments(shell: str) -> dict[str, str]:
    """The Dockerfile's arguments about shells; its defaults install PowerShell."""
    shells = [SHELLS[name] for name in shells_in(shell)]
    common = (shell for shell in shells if not shell.install.is_layer)
    programs = (f"{shell.name}={shell.argv[0]}" for shell in common)
    packages = (package for shell in shells for package in shell.install.packages)
    return {"SHELLS": " ".join(programs), "SHELL_PACKAGES": " ".join(packages)}


def layer(entry: Shell, source: str, folder: Path) -> list[str]:
    """The lines of a Dockerfile that add a shell's program to the common image, if it is a layer.

    Args:
        source: the archive that it was given, if it comes in one.
        folder: the build's, into which what the lines copy is written.
    """
    install, program = entry.install, Path(entry.argv[0])
    if not install.is_layer:
        return []
    link = f"/opt/tools/{entry.name}"
    linked = f"RUN mkdir {link} && ln -s {program} {link}/"
    if install.interpreter:
        copied = f"cp /opt/fluency/python3 {program} && chmod 0755 {program}"
        return [f"{linked} && mkdir -p {program.parent} && {copied}"]
    if source == NONE:
        return []
    assert install.archive
    unpack_program(install.archive, source, folder / "program")
    return [f"COPY program {program.parent}", linked]


def _build(engine: Engine, shell: str) -> None:
    entry = SHELLS[shell]
    log_line(f"building the sandbox image for {entry.title} (a minute or two)")
    base, tag, source = ensure_base(engine), image_tag(shell), source_of(shell)
    log_source(shell, source)
    archive, given = entry.install.archive, source not in (NONE, DOWNLOAD)
    missing = {shell: why_no_download(shell)} if archive and source == NONE else {}
    installs = (other.install.archive for other in SHELLS.values())
    optional = (one.build_argument for one in installs if one and one.build_argument)
    arguments = {"BASE": base, **dict.fromkeys(optional, NONE), **build_arguments(shell)}
    interim = f"{REPOSITORY}-building:{tag.partition(':')[2]}"
    labels = {
        "content": content_sha256(shells_in(shell)),
        "sources": content_sha256(),
        "base": base if base == PUBLIC else f"mmdebstrap {SUITE}",
        SOURCE: source,
        "checkout": CHECKOUT_ID,
        **{f"missing.{name}": str(why) for name, why in missing.items()},
    }
    try:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            for name in SOURCES:
                shutil.copy(SANDBOX / name, folder)
            if archive and (argument := archive.build_argument):
                arguments[argument] = "given" if given else source
                if given:
                    shutil.copy(archive_path(source), f"{folder}/{argument.lower()}.tar.gz")
            run_build(engine, tag=interim, path=folder, buildargs=arguments)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            if lines := layer(entry, source, Path(folder)):
                Path(folder, "Dockerfile").write_text("\n".join([f"FROM {interim}", *lines]))
                run_build(engine, tag=interim, path=folder)
        for name in shells_in(shell):
            if name not in missing:
                labels[f"version.{name}"] = _version(engine, interim, SHELLS[name])
        digest = _probe(engine, interim, "/usr/bin/sha256sum", "/opt/packages.txt")
        labels["packages"] = digest.split()[0]
        # The labels say what is inside, which is known only after the first build.
        labels = {f"{LABEL}{key}": value for key, value in labels.items()}
        run_build(engine, tag=tag, fileobj=io.BytesIO(f"FROM {interim}\n".encode()), labels=labels)
    finally:
        with suppress(docker.errors.APIError):  # it may never have been made
            engine.client(timeout=BUILD_S).remove_image(interim, noprune=True)


def _version(engine: Engine, image: str, entry: Shell) -> str:
    """The version that a shell prints; SandboxError names the entry's key if it prints none."""
    program, *options = entry.argv
    try:
        said = _probe(engine, image, program, *options, entry.version_command)
    except SandboxError as error:
        error.where = entry.where("argv or version_command")
        raise
    if len(said.splitlines()) != 1:
        what = f"it must print the version and nothing else, and prints {both_ends(said)!r}"
        raise SandboxError(what, where=entry.where("version_command"), hint=f"see {PAGE}")
    return said


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
    """Remove this checkout's images of other sources.

    Only those that are older than a day and that no container uses.
    """
    filters = {
        "dangling": False,
        "until": UNUSED_AFTER,
        "label": f"{LABEL}checkout={CHECKOUT_ID}",
        "label!": f"{LABEL}sources={content_sha256()}",
    }
    with suppress(docker.errors.DockerException, OSError):
        engine.client(timeout=120).prune_images(filters)


def shared_image_path(shell: str) -> Path:
    """Where the image of a shell is kept in the shared folder."""
    return FOLDER / f"{shell}-{image_tag(shell).partition(':')[2]}.tar"


def keep_image(engine: Engine, shell: str) -> None:
    """Write a shell's image into the shared folder, if there is one that lacks it.

    Its older ones are removed.
    """
    path = shared_image_path(shell)
    if not FOLDER.is_dir() or path.exists():
        return
    log_line(f"saving the image for the other nodes: {path}")
    for older in FOLDER.glob(f"{shell}-*.tar"):
        older.unlink(missing_ok=True)
    save_image(engine, image_tag(shell), path)


def load_image(engine: Engine, shell: str) -> bool:
    """Load a shell's image from the shared folder; False if it is not there.

    SandboxError if the engine refuses it.
    """
    path = shared_image_path(shell)
    if not path.exists():
        return False
    log_line(f"loading the image from {path}")
    try:
        with path.open("rb") as file:
            for line in engine.client(timeout=BUILD_S).load_image(file):
                if "error" in line:
                    raise docker.errors.APIError(line["error"])
    except (docker.errors.APIError, OSError) as error:
        what = f"the engine does not load the image: {both_ends(error)}"
        hint = "delete the file, then the next run builds the image and saves it again"
        raise SandboxError(what, where=path, hint=hint) from None
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
    """Get each shell's image ready and print the shell's version in it."""
    engine = ensure_engine()
    for name, shell in SHELLS.items():
        info = ensure_image(engine, name)
        if not info.shells[name] and why_no_download(name) is None:
            log_line(f"{shell.title} can be downloaded now: building its image again")
            info = ensure_image(engine, name, rebuild=True)
        forget_other_image(info, image_path(RESULTS, name))
        print(f"{shell.title}: {info.shells[name] or 'not in its image'}")
    return 0


def forget_other_image(info: ImageInfo, record: Path) -> None:
    """Remove a record of an image with other shells; the next run then executes in this one."""
    if record.exists() and read_json(record)["image"]["shells"] != info.shells:
        record.unlink()
        log_line("a shell's image has changed: the next run executes the shell's commands again")
