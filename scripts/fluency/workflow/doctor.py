"""`make doctor`: what this machine has, what it lacks, and what each missing thing prevents."""

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple

import psutil

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS
from fluency.core.study import SandboxConfig, read_study
from fluency.execution.archives import install_hint
from fluency.execution.engine import find_engine
from fluency.execution.image import find_image, image_tag, why_missing
from fluency.execution.isolation import profile_sha256
from fluency.execution.sandbox import checked_sandbox
from fluency.generation.api_keys import variables_of
from fluency.workflow.preflight import unwritable

NEEDED_GB = 4.0
NEEDED_MB = 3000
ENGINE = "container engine"


class Check(NamedTuple):
    """A row of the table.

    Attributes:
        advice: what is prevented, and how to get it; empty if what was found is enough.
        is_needed: whether nothing can be measured without it.
    """

    thing: str
    found: str
    advice: str = ""
    is_needed: bool = False

    @property
    def lacks(self) -> bool:
        return self.is_needed and self.advice != ""


def main() -> int:
    """Print the table; 1 if something is missing without which no command can be run, else 0."""
    checks = list(examine())
    for row in checks:
        mark = "LACKS" if row.lacks else "note" if row.advice else "ok"
        print(f"{mark:7}{row.thing:20}{row.found}")
        if row.advice:
            print(f"{'':27}{row.advice}")
    lacking = [row.thing for row in checks if row.lacks]
    runs = "Nothing is missing without which `make demo` cannot run."
    print(f"Missing: {', '.join(lacking)}." if lacking else runs)
    return 1 if lacking else 0


def examine() -> Iterator[Check]:
    """Every row of the table; each thing after those that it needs."""
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    need = f"image and model weights need about {NEEDED_GB:.0f} GB: free some"
    yield Check("disk", f"{free_gb:.1f} GB free here", need if free_gb < NEEDED_GB else "", True)
    free_mb = psutil.virtual_memory().available // 2**20
    large = "the embedded model may be too large" if free_mb < NEEDED_MB else ""
    yield Check("memory", f"{free_mb} MB free", large)
    closed = ", ".join(map(str, unwritable()))
    how = "cannot be written to, so nothing can be measured: use a copy that you may write to"
    yield Check("project folder", closed or str(ROOT), how if closed else "", True)
    (engine,) = _rows(ENGINE, _engine())
    yield engine
    if not engine.lacks:
        images = dict[str, ImageInfo]()
        for name, shell in SHELLS.items():
            yield from _rows(f"{shell.short_title} archive", _image(name, images))
        if images:
            yield from _rows("a known command", _known_command(images))
    yield from _rows("configuration", _models())


def missing_engine() -> list[str]:
    """A sentence if no container engine answers and none can be started from here."""
    (row,) = _rows(ENGINE, _engine())
    return [f"a container engine ({row.found}): {row.advice}"] if row.lacks else []


def _rows(thing: str, rows: Iterator[Check]) -> Iterator[Check]:
    """The rows of a part; its error is the last one, under the name of `thing`."""
    try:
        yield from rows
    except UserError as error:
        how = f"no command can be run: {error.hint}"
        yield Check(thing, f"{error.where}: {error.what}", how, True)


def _engine() -> Iterator[Check]:
    if engine := find_engine():
        facts = engine.facts
        found = f"{facts['name']} {facts['version']} at {engine.url}, storage {facts['storage']}, "
        less = "it has no seccomp, so the sandbox has one measure less: restore its default profile"
        found += f"control groups version {facts['cgroup']}"
        yield Check(ENGINE, found, "" if facts["seccomp"] else less)
    elif os.geteuid() == 0 and shutil.which("apt-get"):
        yield Check(ENGINE, "none answers", "`make image` installs and starts Docker")
    else:
        how = "no command can be run: install Docker or Podman and start it"
        yield Check(ENGINE, "none answers", how, True)


def _image(shell: str, images: dict[str, ImageInfo]) -> Iterator[Check]:
    """The rows of a shell's image; adds the image to `images`, if it is there."""
    tag = image_tag(shell)  # an error in its archive is worth a row without an engine, too
    if (engine := find_engine()) is None:
        return
    title = SHELLS[shell].short_title
    if (image := find_image(engine, shell)) is None:
        found = f"{tag} is not built yet"
        yield Check(f"image for {shell}", found, "`make image` builds it in minutes")
        return
    images[shell] = image
    yield Check(f"image for {shell}", f"{tag}, base {image.base}, {image.architecture}")
    if why := why_missing(engine, image, shell):
        advice = f"{shell} is not measured: {install_hint(shell)}"
        yield Check(title, f"not in the image: {why}", advice)
    else:
        yield Check(title, str(image.shells[shell]))


def _known_command(images: Mapping[str, ImageInfo]) -> Iterator[Check]:
    """One real execution: an engine may answer and start no container, or drop some limits."""
    if (engine := find_engine()) is None:
        return
    sandbox = checked_sandbox(engine, images, SandboxConfig())
    yield Check("a known command", "gave the known result, within its limits")
    refused = sandbox.refused
    own = "the engine's own, larger profile is used, and every record says so" if refused else ""
    yield Check("seccomp profile", refused or f"the project's, {profile_sha256()[:12]}", own)


def _models() -> Iterator[Check]:
    study = read_study(ROOT / "config" / "study.yaml")
    if find_spec("xllamacpp") is None:
        yield Check("embedded model", "xllamacpp is not installed", "`make env` installs it", True)
    for name in sorted({name for model in study.models for name in variables_of(model).values()}):
        if os.environ.get(name, "").strip():  # its value is never shown
            yield Check(name, "is set")
        else:
            need = "only `make study` needs it: export the key of your account"
            yield Check(name, "is not set", need)
