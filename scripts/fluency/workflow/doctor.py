"""`make doctor`: what this machine has, what it lacks, and what each missing thing prevents. Leaves nothing behind."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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

State = Literal["good", "note", "lacks"]
MARKS: dict[State, str] = {"good": "[green]ok[/]", "note": "[yellow]note[/]", "lacks": "[red]lacks[/]"}
NEEDED_GB = 4.0
NEEDED_MB = 3000


@dataclass(frozen=True)
class Line:
    """One row: a thing, how it stands, what was found, and what its lack prevents or how to get it."""

    thing: str
    state: State
    found: str
    advice: str = ""


def main() -> int:
    """Print the table; 1 if something is missing without which no command can be run, else 0."""
    lines = list(examine())
    table = Table(title="What this machine has", show_lines=False, title_justify="left")
    for heading in ("", "", "found", "what it prevents, and how to get it"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(line.thing, MARKS[line.state], line.found, line.advice)
    Console(width=None if sys.stdout.isatty() else 150, highlight=False).print(table)
    lacking = [line.thing for line in lines if line.state == "lacks"]
    print(f"Missing: {', '.join(lacking)}." if lacking else "Nothing is missing for `make demo`.")
    return 1 if lacking else 0


def examine() -> Iterator[Line]:
    """Every line of the table, in the order in which things build on each other."""
    yield _python()
    yield from _room()
    engine: Engine | None = None
    try:
        engine = find_engine()
    except UserError as error:
        yield Line("container engine", "lacks", error.what, f"no command can be run: {error.hint}")
    else:
        yield from _engine(engine)
    yield from _image(engine)
    yield from _models()


def _python() -> Line:
    return Line("Python", "good", f"{platform.python_version()}, {platform.machine()}")


def _room() -> Iterator[Line]:
    free = shutil.disk_usage(ROOT).free / 1e9
    room = f"{free:.1f} GB free here"
    if free >= NEEDED_GB:
        yield Line("disk", "good", room)
    else:
        yield Line("disk", "lacks", room, f"image and model weights need about {NEEDED_GB:.0f} GB: make room")
    try:
        words = Path("/proc/meminfo").read_text(encoding="ascii").split("MemAvailable:")[1].split()
    except (OSError, IndexError):
        return
    free_mb = int(words[0]) // 1024
    state: State = "good" if free_mb >= NEEDED_MB else "note"
    yield Line("memory", state, f"{free_mb} MB free", "" if state == "good" else "the embedded model may be too large")


def _engine(engine: Engine | None) -> Iterator[Line]:
    if engine is None:
        by_itself = os.geteuid() == 0 and shutil.which("apt-get")
        how = "`make image` installs and starts Docker" if by_itself else "install Docker or Podman and start it"
        yield Line(
            "container engine", "note" if by_itself else "lacks", "none answers", f"no command can be run: {how}"
        )
        return
    facts = engine.facts
    kind = "rootless" if facts["rootless"] else "as root"
    yield Line("container engine", "good", f"{facts['name']} {facts['version']} ({kind}) at {engine.url}")
    yield Line("storage", "good", f"{facts['storage']}, {_engine_room(engine)}")
    yield Line("control groups", "good", f"version {facts['cgroup']}")
    if facts["seccomp"]:
        yield Line("seccomp", "good", "the engine filters system calls")
    else:
        yield Line(
            "seccomp",
            "note",
            "none",
            "the sandbox has one isolation measure less: give the engine its default profile back",
        )


def _engine_room(engine: Engine) -> str:
    root = Path(engine.client().info().get("DockerRootDir") or "/nonexistent")
    if engine.url.startswith("unix://") and root.is_dir():
        return f"{shutil.disk_usage(root).free / 1e9:.1f} GB free in {root}"
    return "room unknown"


def _image(engine: Engine | None) -> Iterator[Line]:
    try:
        source = powershell_source()
    except UserError as error:
        yield Line("PowerShell archive", "lacks", f"{error.where}: {error.what}", error.hint)
        return
    if engine is None:
        return
    tag = image_tag(source)
    found = find_image(engine, tag)
    if found is None:
        yield Line("sandbox image", "note", f"{tag} is not built yet", "`make image` builds it in a minute or two")
        return
    yield Line("sandbox image", "good", f"{tag}, base {found.base}, {found.architecture}")
    yield from _known_command(engine, found)
    how = f"{INSTALL_HINT} (from {RELEASE_PAGE}); or, where that page can be reached, `make image`"
    for name, shell in SHELLS.items():
        if why := why_missing(engine, found, name):
            found_there, advice = f"not in the image: {why}", f"the {name} arm is not measured: {how}"
            yield Line(shell.short_title, "note", found_there, advice)
        else:
            yield Line(shell.short_title, "good", found.shells[name] or "")


def _known_command(engine: Engine, image: ImageInfo) -> Iterator[Line]:
    """One real execution: what an engine says of itself does not tell whether it can start a container, and how."""
    try:
        sandbox = checked_sandbox(engine, image, 1, Limits())
    except UserError as error:
        yield Line("a known command", "lacks", error.what, f"no command can be run: {error.hint}")
        return
    if "sysctls" in sandbox.dropped:
        advice = "memory that outlives its process stays possible: a newer kernel or an engine of root"
        yield Line("a known command", "note", "gave the known result, without the kernel's own limits", advice)
    else:
        yield Line("a known command", "good", "gave the known result, within its limits")
    if refused := sandbox.dropped.get("seccomp"):
        advice = "the engine's own seccomp profile holds instead of the project's smaller one, and every record says so"
        yield Line("seccomp profile", "note", refused, advice)
    else:
        yield Line("seccomp profile", "good", f"the project's, {profile_sha256()[:12]}")


def _models() -> Iterator[Line]:
    try:
        default, study = read_study(), read_study(ROOT / "config" / "study.yaml")
    except UserError as error:
        yield Line("configuration", "lacks", str(error).split("\n")[0], error.hint)
        return
    if any(model.served_by == "embedded" for model in default.models):
        weights = [path for path in (CACHE / "weights").glob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in weights) / 1e6
        found = f"{size:.0f} MB in .cache/weights" if weights else "not fetched yet"
        yield Line("model weights", "good" if weights else "note", found, "" if weights else "`make demo` fetches them")
    for name in sorted({model.api_key_env for model in study.models if model.key_required}):
        if os.environ.get(name):
            yield Line(name, "good", "is set")  # never what it is set to
        else:
            yield Line(name, "note", "is not set", "only `make study` needs it: export the key of your account")
