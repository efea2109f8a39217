"""What a fresh image says of itself: the versions of its shells, and its packages."""

from __future__ import annotations

from fluency.common.errors import SandboxError
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.powershell import HOW

WHERE = "sandbox image"
LOOK = """
sha256sum < /opt/packages.txt | cut -d' ' -f1
bash -c 'echo "$BASH_VERSION"'
pwsh=/opt/microsoft/powershell/7/pwsh
[ ! -x $pwsh ] || $pwsh -NoProfile -NonInteractive -Command '$PSVersionTable.PSVersion.ToString()'
"""


def look_inside(engine: Engine, image: str, powershell: bool) -> dict[str, str]:
    """Versions and the hash of the package list, as the image itself tells them."""
    client = engine.patient_client(300)
    created = client.create_container_from_config(
        {
            "Image": image,
            "Entrypoint": ["/bin/sh", "-c", LOOK],
            "Env": [
                "HOME=/tmp",
                "POWERSHELL_TELEMETRY_OPTOUT=1",
                "POWERSHELL_UPDATECHECK=Off",
                "TERM=dumb",
                "NO_COLOR=1",
            ],
            "HostConfig": {"NetworkMode": "none"},
        }
    )["Id"]
    try:
        client.start(created)
        status = client.wait(created)["StatusCode"]
        lines = client.logs(created, stdout=True, stderr=False).decode("utf-8", "replace").split()
        errors = client.logs(created, stdout=False, stderr=True).decode("utf-8", "replace")
    finally:
        client.remove_container(created, force=True)
    if powershell and (status or len(lines) < 3):
        why = " ".join(errors.split())[:200] or f"exit code {status}"
        raise SandboxError(f"PowerShell does not run in the image: {why}", where=WHERE, hint=HOW)
    if len(lines) < 2:
        raise SandboxError(f"bash does not run in the image: {errors[:200]}", where=WHERE, hint="`make doctor`")
    return {"packages": lines[0], "bash": lines[1], "pwsh": lines[2] if powershell else ""}
