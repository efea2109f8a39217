"""The container engine: the one that answers, whichever it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.errors
from docker.utils import kwargs_from_env

from fluency.common.errors import SandboxError

WHERE = "container engine"
CALL_S = 60


@dataclass(frozen=True)
class Engine:
    """An engine that answered, how to reach it, and what it says of itself."""

    url: str
    options: dict[str, Any] = field(repr=False)
    facts: dict[str, Any]
    unconfirmed: set[str] = field(default_factory=set, repr=False, compare=False)
    """Ids or names of containers that were to be made or removed when the engine gave no answer."""
    _local: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    def client(self) -> docker.APIClient:
        """This thread's connection; requests' sessions may not be shared between threads."""
        if not hasattr(self._local, "client"):
            self._local.client = connect(self.options, timeout=CALL_S)
        client: docker.APIClient = self._local.client
        return client

    def patient_client(self, timeout: int = 1800) -> docker.APIClient:
        """A connection for builds and imports, whose steps may be silent for minutes."""
        return connect(self.options, timeout=timeout)


class Client(docker.APIClient):
    """docker's client, but that no call waits for ever: some of its own pass no bound on."""

    def send(self, request: Any, **kwargs: Any) -> Any:
        """Wait for the engine's answer, and for each next piece of it, as long as the client was made for."""
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        return super().send(request, **kwargs)


def connect(options: dict[str, Any], timeout: int) -> Client:
    """A low-level client at the engine's own API version; `timeout` in seconds holds for every call."""
    return Client(**options, version="auto", timeout=timeout)


def candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Where an engine may listen, with the client's options: DOCKER_HOST alone if it is set, else the usual places."""
    if os.environ.get("DOCKER_HOST"):
        try:
            yield os.environ["DOCKER_HOST"], dict(kwargs_from_env())
        except docker.errors.DockerException as error:
            raise SandboxError(
                f"DOCKER_HOST cannot be used: {error}", where=os.environ["DOCKER_HOST"], hint="unset it or correct it"
            ) from None
        return
    for path in socket_paths():
        if os.access(path, os.F_OK, effective_ids=True):  # no, and no error, where the folder is closed to us
            yield f"unix://{path}", {"base_url": f"unix://{path}"}


def socket_paths() -> list[Path]:
    """Docker's, rootless Docker's and Podman's sockets."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    return [
        Path("/var/run/docker.sock"),
        runtime / "docker.sock",
        runtime / "podman" / "podman.sock",
        Path("/run/podman/podman.sock"),
    ]


def find_engine() -> Engine | None:
    """The first engine that answers, or None if none is there; SandboxError if one is there that we may not use."""
    forbidden = None
    for url, options in candidates():
        try:
            client = connect(options, timeout=10)
            facts = _facts(client.version(), client.info(), url)
        except Exception as error:
            if _is_about_permission(error):
                forbidden = url
            elif os.environ.get("DOCKER_HOST"):
                raise SandboxError(
                    f"no engine answers there: {short(error)}",
                    where=f"DOCKER_HOST={url}",
                    hint="start it, or unset it",
                ) from None
            continue
        if facts["os"] != "linux":
            raise SandboxError(
                f"the engine runs {facts['os']} containers", where=url, hint="switch it to Linux containers"
            )
        return Engine(url, options, facts)
    if forbidden:
        raise SandboxError(
            "the container engine is there, but you may not use it",
            where=forbidden,
            hint="run `sudo usermod -aG docker $USER` and log in again, or run as root",
        )
    return None


def _facts(version: dict[str, Any], info: dict[str, Any], url: str) -> dict[str, Any]:
    """What a record says of the engine; nothing in it names the machine or its user."""
    names = " ".join(part.get("Name", "") for part in version.get("Components") or [])
    security = [str(option) for option in info.get("SecurityOptions") or []]
    return {
        "name": "podman" if "podman" in names.lower() else "docker",
        "version": version.get("Version"),
        "os": version.get("Os") or info.get("OSType"),
        "architecture": version.get("Arch"),
        "kernel": version.get("KernelVersion"),
        "storage": info.get("Driver"),
        "cgroup": str(info.get("CgroupVersion") or "1"),
        "seccomp": any("seccomp" in option and "unconfined" not in option for option in security),
        "rootless": any("rootless" in option for option in security) or _is_a_users(url),
        "cpus": info.get("NCPU"),
        "memory_bytes": info.get("MemTotal"),
    }


def _is_a_users(url: str) -> bool:
    """Whether the engine's socket is not root's: an older Podman does not say that it is rootless."""
    return url.startswith("unix://") and os.stat(url.removeprefix("unix://")).st_uid != 0


def _is_about_permission(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, PermissionError) or "Permission denied" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def short(error: BaseException) -> str:
    """An engine's words on one line, their start: it names what was asked."""
    return " ".join(str(error).split())[:160]
