"""`make doctor`: what this machine has, what it lacks, and what each missing thing prevents."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

import psutil
from rich.console import Console
from rich.table import Table

from fluency.common.errors import UserError
from fluency.common.paths import CACHE, ROOT
from fluency.core.records import ImageInfo
from fluency.core.shells import SHELLS
from fluency.core.study import Limits, read_study
from fluency.execution.engine import Engine, find_engine
from fluency.execution.image import find_image, why_missing
from fluency.execution.image_content import image_tag
from fluency.execution.isolation import profile_sha256
from fluency.execution.powershell import INSTALL_HINT, RELEASE_PAGE, powershell_source
from fluency.execution.sandbox import checked_sandbox
from fluency.workflow.preflight import unwritable

NEEDED_GB = 4.0
NEEDED_MB = 3000


class Check(NamedTuple):
    """A row of the table.

    Attributes:
        is_good: whether what was found is enough; else the advice is shown.
        advice: what it prevents, and how to get it.
        is_needed: whether nothing can be measured without it.
    """

    thing: str
    found: str
    is_good: bool = True
    advice: str = ""
    is_needed: bool = False

    @property
    def lacks(self) -> bool:
        return self.is_needed and not self.is_good

    @property
    def mark(self) -> str:
        if self.is_good:
            return "[green]ok[/]"
        return "[red]lacks[/]" if self.is_needed else "[yellow]note[/]"


def main() -> int:
    """Print the table; 1 if something is missing without which no command can be run, else 0."""
    checks = list(examine())
    table = Table(title="What this machine has", show_lines=False, title_justify="left")
    for heading in ("", "", "found", "what it prevents, and how to get it"):
        table.add_column(heading, overflow="fold")
    for row in checks:
        table.add_row(row.thing, row.mark, row.found, "" if row.is_good else row.advice)
    Console(width=None if sys.stdout.isatty() else 150, highlight=False).print(table)
    lacking = [row.thing for row in checks if row.lacks]
    print(f"Missing: {', '.join(lacking)}." if lacking else "Nothing is missing for `make demo`.")
    return 1 if lacking else 0


def examine() -> Iterator[Check]:
    """Every row of the table; each thing after those that it needs."""
    yield Check("Python", f"{platform.python_version()}, {platform.machine()}")
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    need = f"image and model weights need about {NEEDED_GB:.0f} GB: free some"
    yield Check("disk", f"{free_gb:.1f} GB free here", free_gb >= NEEDED_GB, need, True)
    free_mb = psutil.virtual_memory().available // 2**20
    large = "the embedded model may be too large"
    yield Check("memory", f"{free_mb} MB free", free_mb >= NEEDED_MB, large)
    closed = ", ".join(map(str, unwritable()))
    found = f"cannot be written to: {closed}" if closed else str(ROOT)
    how = "no command that measures can run: use a copy that you may write to"
    yield Check("project folder", found, not closed, how, True)
    engine, row = _engine()
    yield row
    yield from _image(engine)
    yield from _models()


def missing_engine() -> list[str]:
    """A sentence if no container engine answers and none can be started from here."""
    _, row = _engine()
    return [f"a container engine ({row.found}): {row.advice}"] if row.lacks else []


def _engine() -> tuple[Engine | None, Check]:
    needed, found, how = True, "none answers", "install Docker or Podman and start it"
    try:
        if engine := find_engine():
            facts = engine.facts
            kind = "rootless" if facts["rootless"] else "as root"
            named = f"{facts['name']} {facts['version']} ({kind}) at {engine.url}"
            parts = f"storage {facts['storage']}, control groups version {facts['cgroup']}"
            filters = "and it filters system calls" if facts["seccomp"] else "no seccomp"
            less = "the sandbox has one measure less: give the engine its default profile back"
            found = f"{named}, {parts}, {filters}"
            return engine, Check("container engine", found, facts["seccomp"], less)
        if os.geteuid() == 0 and shutil.which("apt-get"):
            needed, how = False, "`make image` installs and starts Docker"
    except UserError as error:
        found, how = f"{error.where}: {error.what}", error.hint
    return None, Check("container engine", found, False, f"no command can be run: {how}", needed)


def _image(engine: Engine | None) -> Iterator[Check]:
    try:
        tag = image_tag(powershell_source())
    except UserError as error:
        found = f"{error.where}: {error.what}"
        yield Check("PowerShell archive", found, False, error.hint, True)
        return
    if engine is None:
        return
    if (image := find_image(engine, tag)) is None:
        how = "`make image` builds it in a minute or two"
        yield Check("sandbox image", f"{tag} is not built yet", False, how)
        return
    yield Check("sandbox image", f"{tag}, base {image.base}, {image.architecture}")
    yield from _known_command(engine, image)
    how = f"{INSTALL_HINT} (from {RELEASE_PAGE}); or, where that page can be reached, `make image`"
    for name, shell in SHELLS.items():
        why = why_missing(engine, image, name)
        found = f"not in the image: {why}" if why else str(image.shells[name])
        yield Check(shell.short_title, found, not why, f"{name} is not measured: {how}")


def _known_command(engine: Engine, image: ImageInfo) -> Iterator[Check]:
    """One real execution: an engine may answer and start no container, or drop some limits."""
    try:
        sandbox = checked_sandbox(engine, image, 1, Limits())
    except UserError as error:
        advice = f"no command can be run: {error.hint}"
        yield Check("a known command", error.what, False, advice, True)
        return
    yield Check("a known command", "gave the known result, within its limits")
    profile = sandbox.refused or f"the project's, {profile_sha256()[:12]}"
    own = "the engine's own, larger profile is used, and every record says so"
    yield Check("seccomp profile", profile, not sandbox.refused, own)


def _models() -> Iterator[Check]:
    try:
        default, study = read_study(), read_study(ROOT / "config" / "study.yaml")
    except UserError as error:
        yield Check("configuration", str(error).split("\n")[0], False, error.hint, True)
        return
    if any(model.served_by == "embedded" for model in default.models):
        if find_spec("xllamacpp") is None:
            need = "`make demo` needs it: `make env`"
            yield Check("embedded model", "xllamacpp is not installed", False, need, True)
        files = ", ".join(path.name for path in (CACHE / "weights").glob("*.gguf"))
        fetch = "`make demo` fetches them"
        yield Check("model weights", files or "not fetched yet", bool(files), fetch)
    for name in sorted({model.api_key_env for model in study.models if model.key_required}):
        is_set = bool(os.environ.get(name))  # its value is never shown
        need = "only `make study` needs it: export the key of your account"
        yield Check(name, "is set" if is_set else "is not set", is_set, need)
