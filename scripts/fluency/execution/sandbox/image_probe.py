"""What a fresh image says of itself: the versions of its shells, its packages, and the hashes of what runs in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import docker.errors
import requests

from fluency.common.errors import SandboxError
from fluency.core.shells import Shell
from fluency.execution.sandbox import labels
from fluency.execution.sandbox.container import as_sandbox_error, new_name, remove
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.powershell import HOW, NAME

WHERE = "sandbox image"
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
            hint = HOW if shell.name == NAME else "`make doctor`"
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
    client = engine.patient_client(PROBE_S)
    # By way of sh, which tells of a program that cannot be started as of one that fails.
    entrypoint = ["/bin/sh", "-c", '"$@"', "sh", *argv]
    config = {
        "Image": image,
        "Entrypoint": entrypoint,
        "Env": VARIABLES,
        "Labels": labels.labels(),
        "HostConfig": {"NetworkMode": "none"},
    }
    container = new_name()
    try:
        container = client.create_container_from_config(config, container)["Id"]
        client.start(container)
        status = client.wait(container)["StatusCode"]
        streams = [client.logs(container, stdout=out, stderr=not out) for out in (True, False)]
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise as_sandbox_error(error, PROBE_S) from None
    finally:
        remove(engine, container)
    output, errors = (stream.decode("utf-8", "replace").strip() for stream in streams)
    return status, output, errors
