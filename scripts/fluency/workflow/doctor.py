"""`make doctor`: what this machine has, what it lacks, and what each missing thing prevents."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

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

State = Literal["good", "note", "lacks"]
MARKS: dict[State, str] = {
    "good": "[green]ok[/]",
    "note": "[yellow]note[/]",
    "lacks": "[red]lacks[/]",
}
NEEDED_GB = 4.0
NEEDED_MB = 3000


@dataclass(frozen=True)
class Check:
    """One row: a thing, its state, what was found, and what its lack prevents or how to get it."""

    thing: str
    state: State
    found: str
    advice: str = ""


def check(thing: str, is_good: object, found: str, advice: str, otherwise: State = "note") -> Check:
    """A row whose advice is shown only where the thing is not good."""
    return Check(thing, "good", found) if is_good else Check(thing, otherwise, found, advice)


def main() -> int:
    """Print the table; 1 if something is missing without which no command can be run, else 0."""
    checks = list(examine())
    table = Table(title="What this machine has", show_lines=False, title_justify="left")
    for heading in ("", "", "found", "what it prevents, and how to get it"):
        table.add_column(heading, overflow="fold")
    for row in checks:
        table.add_row(row.thing, MARKS[row.state], row.found, row.advice)
    Console(width=None if sys.stdout.isatty() else 150, highlight=False).print(table)
    lacking = [row.thing for row in checks if row.state == "lacks"]
    print(f"Missing: {', '.join(lacking)}." if lacking else "Nothing is missing for `make demo`.")
    return 1 if lacking else 0


def examine() -> Iterator[Check]:
    """Every row of the table; each thing after those that it needs."""
    yield Check("Python", "good", f"{platform.python_version()}, {platform.machine()}")
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    need = f"image and model weights need about {NEEDED_GB:.0f} GB: free some"
    yield check("disk", free_gb >= NEEDED_GB, f"{free_gb:.1f} GB free here", need, "lacks")
    free_mb = psutil.virtual_memory().available // 2**20
    large = "the embedded model may be too large"
    yield check("memory", free_mb >= NEEDED_MB, f"{free_mb} MB free", large)
    closed = ", ".join(map(str, unwritable()))
    found = f"cannot be written to: {closed}" if closed else str(ROOT)
    how = "no command that measures can run: use a copy that you may write to"
    yield check("project folder", not closed, found, how, "lacks")
    engine = _engine_or_why()
    if isinstance(engine, Check):
        yield engine
    else:
        yield from _engine(engine)
    yield from _image(None if isinstance(engine, Check) else engine)
    yield from _models()


def missing_engine() -> list[str]:
    """A sentence if no container engine answers and none can be started from here."""
    row = _engine_or_why()
    if isinstance(row, Check) and row.state == "lacks":
        return [f"a container engine ({row.found}): {row.advice}"]
    return []


def _engine_or_why() -> Engine | Check:
    state: State = "lacks"
    found, how = "none answers", "install Docker or Podman and start it"
    try:
        if engine := find_engine():
            return engine
        if os.geteuid() == 0 and shutil.which("apt-get"):
            state, how = "note", "`make image` installs and starts Docker"
    except UserError as error:
        found, how = f"{error.where}: {error.what}", error.hint
    return Check("container engine", state, found, f"no command can be run: {how}")


def _engine(engine: Engine) -> Iterator[Check]:
    facts = engine.facts
    kind = "rootless" if facts["rootless"] else "as root"
    named = f"{facts['name']} {facts['version']} ({kind}) at {engine.url}"
    yield Check("container engine", "good", named)
    yield Check("storage", "good", str(facts["storage"]))
    yield Check("control groups", "good", f"version {facts['cgroup']}")
    less = "the sandbox has one isolation measure less: give the engine its default profile back"
    filters = "the engine filters system calls"
    yield check("seccomp", facts["seccomp"], filters if facts["seccomp"] else "none", less)


def _image(engine: Engine | None) -> Iterator[Check]:
    try:
        source = powershell_source()
    except UserError as error:
        yield Check("PowerShell archive", "lacks", f"{error.where}: {error.what}", error.hint)
        return
    if engine is None:
        return
    tag = image_tag(source)
    found = find_image(engine, tag)
    if found is None:
        how = "`make image` builds it in a minute or two"
        yield Check("sandbox image", "note", f"{tag} is not built yet", how)
        return
    yield Check("sandbox image", "good", f"{tag}, base {found.base}, {found.architecture}")
    yield from _known_command(engine, found)
    how = f"{INSTALL_HINT} (from {RELEASE_PAGE}); or, where that page can be reached, `make image`"
    for name, shell in SHELLS.items():
        why = why_missing(engine, found, name)
        there = f"not in the image: {why}" if why else found.shells[name] or ""
        yield check(shell.short_title, not why, there, f"{name} is not measured: {how}")


def _known_command(engine: Engine, image: ImageInfo) -> Iterator[Check]:
    """One real execution: an engine may answer and still start no container, or drop some of its limits."""
    try:
        sandbox = checked_sandbox(engine, image, 1, Limits())
    except UserError as error:
        yield Check("a known command", "lacks", error.what, f"no command can be run: {error.hint}")
        return
    yield Check("a known command", "good", "gave the known result, within its limits")
    refused = sandbox.dropped.get("seccomp")
    own = "the engine's own, larger profile is used, and every record says so"
    profile = refused or f"the project's, {profile_sha256()[:12]}"
    yield check("seccomp profile", not refused, profile, own)


def _models() -> Iterator[Check]:
    try:
        default, study = read_study(), read_study(ROOT / "config" / "study.yaml")
    except UserError as error:
        yield Check("configuration", "lacks", str(error).split("\n")[0], error.hint)
        return
    if any(model.served_by == "embedded" for model in default.models):
        if find_spec("xllamacpp") is None:
            need = "`make demo` needs it: `make env`"
            yield Check("embedded model", "lacks", "xllamacpp is not installed", need)
        files = ", ".join(path.name for path in (CACHE / "weights").glob("*.gguf"))
        yield check("model weights", files, files or "not fetched yet", "`make demo` fetches them")
    for name in sorted({model.api_key_env for model in study.models if model.key_required}):
        is_set = bool(os.environ.get(name))  # what it is set to is never shown
        need = "only `make study` needs it: export the key of your account"
        yield check(name, is_set, "is set" if is_set else "is not set", need)
