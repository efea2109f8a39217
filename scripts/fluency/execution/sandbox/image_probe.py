"""What a fresh image says of itself: the versions of its shells, and its packages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fluency.common.errors import SandboxError
from fluency.core.shells import Shell
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.powershell import HOW, NAME

WHERE = "sandbox image"
VARIABLES = ["HOME=/tmp", "POWERSHELL_TELEMETRY_OPTOUT=1", "POWERSHELL_UPDATECHECK=Off", "TERM=dumb", "NO_COLOR=1"]


def shell_versions(engine: Engine, image: str, shells: Iterable[Shell]) -> dict[str, str]:
    """Name of each shell -> its version as the shell itself tells it; SandboxError if one does not run."""
    found = {}
    for shell in shells:
        status, output, errors = _run(engine, image, [*shell.argv, shell.version_command])
        if status or not output:
            why = " ".join(errors.split())[:200] or f"exit code {status}"
            hint = HOW if shell.name == NAME else "`make doctor`"
            raise SandboxError(f"{shell.short_title} does not run in the image: {why}", where=WHERE, hint=hint)
        found[shell.name] = output
    return found


def packages_sha256(engine: Engine, image: str) -> str:
    """Of the list of installed packages with their versions."""
    return _run(engine, image, ["/usr/bin/sha256sum", "/opt/packages.txt"])[1].split()[0]


def _run(engine: Engine, image: str, argv: Sequence[str]) -> tuple[int, str, str]:
    """Exit code and both streams of a program in a fresh container without network."""
    client = engine.patient_client(300)
    # By way of sh, which tells of a program that cannot be started as of one that fails.
    entrypoint = ["/bin/sh", "-c", '"$@"', "sh", *argv]
    config = {"Image": image, "Entrypoint": entrypoint, "Env": VARIABLES, "HostConfig": {"NetworkMode": "none"}}
    created = client.create_container_from_config(config)["Id"]
    try:
        client.start(created)
        status = client.wait(created)["StatusCode"]
        streams = [client.logs(created, stdout=out, stderr=not out) for out in (True, False)]
    finally:
        client.remove_container(created, force=True)
    output, errors = (stream.decode("utf-8", "replace").strip() for stream in streams)
    return status, output, errors
