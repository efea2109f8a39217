"""Builds: the context that goes to the engine, what is said meanwhile, and what a failure means."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import docker.errors

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE, SANDBOX
from fluency.common.terminal import log_line
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.image_content import SOURCES
from fluency.execution.sandbox.powershell import BUILD_FAILURES, archive_path

WHERE = "sandbox image"
# What is said of the Dockerfile's steps, by a mark in their text.
STEPS = {
    "build-packages": "the compiler for the helper processes",
    "gcc -O2": "compiling the helper",
    "image-packages": "the tools: shells' commands, curl, jq, the runner's Python",
    "unpack-powershell": "PowerShell",
    "finish.sh &&": "users, PATH, the runner",
}
COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
BUILDERS_OWN = ("--->", "Removing intermediate container")


def run_build(engine: Engine, **options: Any) -> None:
    """One build with the options of docker's client; SandboxError says why it failed."""
    client = engine.patient_client()
    said: list[str] = []
    try:
        for line in client.build(decode=True, rm=True, forcerm=True, network_mode="host", **options):
            if "error" in line:
                raise build_error(_code(line), line["error"], said)
            text = line.get("stream", "").strip()
            said = [*said[-20:], text] if text else said
            if "step " in text[:20].lower() and (step := next((STEPS[mark] for mark in STEPS if mark in text), None)):
                log_line(f"  {step}")
    except (docker.errors.APIError, docker.errors.DockerException, OSError) as error:
        raise build_error(None, str(error), said) from None


def _code(line: dict[str, Any]) -> int | None:
    """The exit code of the step that failed: Docker gives it, Podman writes it into the sentence."""
    told = (line.get("errorDetail") or {}).get("code")
    written = re.search(r"exit status (\d+)$", line["error"])
    return told or (int(written[1]) if written else None)


def build_error(code: int | None, error: str, said: list[str]) -> SandboxError:
    """What a failed build means: `code` is that of the Dockerfile's step, `said` the last lines of its output."""
    if "no space left" in " ".join([error, *said]).lower():
        return SandboxError(
            "the disk is full",
            where=WHERE,
            hint="the build needs 2 GB for the engine; `docker system prune` makes room",
        )
    what, hint = BUILD_FAILURES.get(code or 0, (f"the build failed: {' '.join(error.split())[:300]}", "see above"))
    if what.startswith("the build failed"):
        hint = f"its last words: {' | '.join(_words(said)[-3:])[:400]}"
    return SandboxError(what, where=WHERE, hint=hint)


def _words(said: list[str]) -> list[str]:
    """The lines of the step itself, without colours and without what the builder says of its containers."""
    lines = [line.strip() for text in said for line in COLOUR.sub("", text).splitlines()]
    return [line for line in lines if line and not line.startswith(BUILDERS_OWN)]


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
