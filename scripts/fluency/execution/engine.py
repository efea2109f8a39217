"""The container engine: found, or installed and started."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import docker
from docker.context import ContextAPI
from docker.context.config import get_current_context_name
from docker.errors import DockerException
from docker.utils import kwargs_from_env
from docker.utils.config import find_config_file

from fluency.common.errors import SandboxError
from fluency.common.files import JsonObject
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line

UNSET = "unset it, or `docker context use default`"
CALL_S = 60
BUILD_S = 1800
"""For builds and imports, whose steps may be silent for minutes."""
MOST_SAID = 300
"""Characters of an engine's own words in a message."""


@dataclass(frozen=True)
class Engine:
    """An engine that answered, how to reach it, and what it says of itself."""

    url: str
    options: JsonObject = field(repr=False)
    facts: JsonObject
    _local: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    def client(self, timeout: int = CALL_S) -> docker.APIClient:
        """This thread's connection for calls with a timeout in seconds."""
        # requests' sessions may not be shared between threads.
        clients: dict[Any, docker.APIClient] = self._local.__dict__
        if timeout not in clients:
            clients[timeout] = Client(**self.options, version="auto", timeout=timeout)
        return clients[timeout]


class Client(docker.APIClient):
    """docker's client with a timeout for every call and every piece of its answer.

    Some of docker's calls set none. It sends no credentials: the base image needs no login, and a
    configured helper for credentials may be missing.
    """

    def send(self, request: Any, **kwargs: Any) -> Any:
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        return super().send(request, **kwargs)

    def _set_auth_headers(self, headers: Any) -> None:
        pass


def places() -> tuple[str, list[Callable[[], Any]]]:
    """What has chosen the engine, if anything has, and the client's options for each place to look.

    The usual places are the sockets of Docker, rootless Docker, Podman and Docker Desktop.
    """
    context = os.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    if host := os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST={host}", [kwargs_from_env]
    if context not in ("", "default"):
        return f"docker context={context}", [partial(ContextAPI.kwargs_from_context, context)]
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    usual = f"""
        /var/run/docker.sock {runtime}/docker.sock {runtime}/podman/podman.sock
        ~/.docker/run/docker.sock ~/.docker/desktop/docker.sock /run/podman/podman.sock
    """
    paths = map(os.path.expanduser, usual.split())
    # False, not an error, in a folder that we may not read.
    there = [path for path in paths if os.access(path, os.F_OK, effective_ids=True)]
    return "", [partial(dict, base_url=f"unix://{path}") for path in there]


def find_engine() -> Engine | None:
    """The first engine that answers; None if nothing answers.

    SandboxError if we may not use the one that does, or the chosen one does not answer.
    """
    chosen, found = places()
    forbidden = url = ""
    for options_of in found:
        try:
            if not (options := options_of()):
                raise LookupError("`docker context ls` does not list it")
            options["base_url"] = url = options["base_url"].removeprefix("http+")
            client = Client(**options, version="auto", timeout=10)
            return Engine(url, options, _facts(client.version(), client.info()))
        except Exception as error:
            if url and "Permission denied" in str(error):
                forbidden = url
            elif chosen:
                what = f"no engine answers there: {both_ends(error)}"
                raise SandboxError(what, where=chosen, hint=f"start it, or {UNSET}") from None
            elif not isinstance(error, OSError | DockerException):
                what = f"docker's client fails: {both_ends(error)}"
                raise SandboxError(what, where=str(find_config_file()), hint="correct it") from None
    if forbidden:
        what = "the container engine is there, but you may not use it"
        hint = "run `sudo usermod -aG docker $USER` and log in again, or run as root"
        raise SandboxError(what, where=forbidden, hint=hint)
    return None


def _facts(version: JsonObject, info: JsonObject) -> JsonObject:
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
        "rootless": any("rootless" in option for option in security),
        "cpus": info.get("NCPU"),
        "memory_bytes": info.get("MemTotal"),
    }


def both_ends(said: object) -> str:
    """An engine's words, or an error of its client, on one line.

    Of long ones both ends, because Podman names the cause last.
    """
    text = " ".join(str(getattr(said, "explanation", None) or said).split())
    return text if len(text) <= MOST_SAID else f"{text[:100]} … {text[-200:]}"


LOG = CACHE / "dockerd.log"
START_SCRIPT = Path(__file__).with_name("start_engine.sh")
STARTS_WITHIN_S = 180


def ensure_engine() -> Engine:
    """The engine that answers, installed and started if need be.

    SandboxError says what to do where we cannot.
    """
    if engine := find_engine():
        return engine
    if os.geteuid() != 0 or not (shutil.which("dockerd") or shutil.which("apt-get")):
        hint = "install and start Docker (on Debian `sudo apt-get install docker.io`) or Podman"
        raise SandboxError("no container engine answers", where="container engine", hint=hint)
    return start_daemon()


def start_daemon() -> Engine:
    """Install and start Docker so that it outlives this process, and wait until it answers."""
    log_line(f"no container engine answers: starting Docker, with apt-get if need be (log: {LOG})")
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        daemon = subprocess.Popen(
            ["/bin/sh", START_SCRIPT],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and daemon.poll() is None:
        with contextlib.suppress(SandboxError):  # it listens already, but does not answer yet
            if engine := find_engine():
                return engine
        time.sleep(0.3)
    if daemon.poll() is None:
        os.killpg(daemon.pid, signal.SIGTERM)
    said = both_ends(LOG.read_text(encoding="utf-8", errors="replace")[-200:])
    what = f"dockerd does not start: {said}"
    raise SandboxError(what, where=LOG, hint="read the log; is this a container?")
