"""The container engine: found, or installed and started."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.errors
from docker.context import ContextAPI
from docker.context.config import get_current_context_name
from docker.utils import kwargs_from_env

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line

WHERE = "container engine"
UNSET = "unset it, or `docker context use default`"
CALL_S = 60
BUILD_S = 1800
"""For builds and imports, whose steps may be silent for minutes."""


@dataclass(frozen=True)
class Engine:
    """An engine that answered, how to reach it, and what it says of itself."""

    url: str
    options: dict[str, Any] = field(repr=False)
    facts: dict[str, Any]
    _local: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    def client(self, timeout: int = CALL_S) -> docker.APIClient:
        """This thread's connection, or a new one for calls with another timeout in seconds."""
        if timeout != CALL_S:
            return Client(**self.options, version="auto", timeout=timeout)
        if not hasattr(
            self._local, "client"
        ):  # requests' sessions may not be shared between threads
            self._local.client = Client(**self.options, version="auto", timeout=timeout)
        client: docker.APIClient = self._local.client
        return client


class Client(docker.APIClient):
    """docker's client with a timeout for every call and every piece of its answer; some of docker's calls set none.

    It sends no credentials: the base image needs no login, and a configured helper for credentials may be missing.
    """

    def send(self, request: Any, **kwargs: Any) -> Any:
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        return super().send(request, **kwargs)

    def _set_auth_headers(self, headers: Any) -> None:
        pass


def candidates() -> Iterator[tuple[str, dict[str, Any]]]:
    """Where an engine may listen, with the client's options.

    DOCKER_HOST alone if it is set, else the context that `docker` uses if it is not the default, else the usual places.
    """
    if where := chosen_place():
        try:
            if where.startswith("DOCKER_HOST"):
                options: dict[str, Any] = {**kwargs_from_env()}
            else:
                options = {**ContextAPI.kwargs_from_context(where.partition("=")[2])}
            yield options["base_url"].removeprefix("http+"), options
        except (docker.errors.DockerException, KeyError) as error:
            raise SandboxError(f"it cannot be used: {error!r}", where=where, hint=UNSET) from None
        return
    for path in socket_paths():
        if os.access(
            path, os.F_OK, effective_ids=True
        ):  # False, not an error, in a folder that we may not read
            yield f"unix://{path}", {"base_url": f"unix://{path}"}


def chosen_place() -> str:
    """`DOCKER_HOST=…` or `docker context=…` where the user has chosen the engine; empty for the usual places."""
    if host := os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST={host}"
    context = os.environ.get("DOCKER_CONTEXT") or get_current_context_name()
    return "" if context in ("", "default") else f"docker context={context}"


def socket_paths() -> list[Path]:
    """Docker's, rootless Docker's, Podman's and Docker Desktop's sockets."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    return [
        Path("/var/run/docker.sock"),
        runtime / "docker.sock",
        runtime / "podman" / "podman.sock",
        Path.home() / ".docker" / "run" / "docker.sock",
        Path.home() / ".docker" / "desktop" / "docker.sock",
        Path("/run/podman/podman.sock"),
    ]


def find_engine() -> Engine | None:
    """The first engine that answers; None if there is none, SandboxError if there is one that we may not use."""
    forbidden = None
    for url, options in candidates():
        try:
            client = Client(**options, version="auto", timeout=10)
            facts = _facts(client.version(), client.info())
        except Exception as error:
            if _is_about_permission(error):
                forbidden = url
            elif chosen_place():
                what = f"no engine answers there: {first_words(error)}"
                raise SandboxError(
                    what, where=chosen_place(), hint=f"start it, or {UNSET}"
                ) from None
            continue
        if facts["os"] != "linux":
            what = f"the engine runs {facts['os']} containers"
            raise SandboxError(what, where=url, hint="switch it to Linux containers")
        return Engine(url, options, facts)
    if forbidden:
        hint = "run `sudo usermod -aG docker $USER` and log in again, or run as root"
        raise SandboxError(
            "the container engine is there, but you may not use it", where=forbidden, hint=hint
        )
    return None


def _facts(version: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
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


def _is_about_permission(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, PermissionError) or "Permission denied" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def first_words(error: BaseException) -> str:
    """The start of an error on one line, where an engine names what it was asked for."""
    return " ".join(str(error).split())[:160]


LOG = CACHE / "dockerd.log"
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
STARTS_WITHIN_S = 60
NO_BRIDGE = ("--iptables=false", "--ip6tables=false", "--bridge=none")
"""What starts dockerd where it may not set up packet filters; containers and builds of ours need no bridge."""
BRIDGE = Path("/sys/class/net/docker0")


def ensure_engine() -> Engine:
    """The engine that answers, installed and started if need be; SandboxError says what to run where we cannot."""
    if engine := find_engine():
        return engine
    if lacking := lacking_packages():
        install(lacking, "no container engine answers")
    return start_daemon()


def lacking_packages() -> list[str]:
    """The packages that an engine needs and this machine lacks; AppArmor's tools only where the kernel has it."""
    packages = [] if shutil.which("dockerd") else ["docker.io", "iptables"]
    with contextlib.suppress(OSError):
        if APPARMOR.read_text(encoding="ascii").startswith("Y") and not shutil.which(
            "apparmor_parser"
        ):
            packages.append("apparmor")
    return packages


def install(packages: list[str], why: str) -> None:
    """Install Debian packages; SandboxError where this is not Debian or Ubuntu, or we are not root."""
    names = " ".join(packages)
    command = f"apt-get install -y {names}"
    if not shutil.which("apt-get"):
        raise SandboxError(why, where=WHERE, hint="install Docker or Podman and start it")
    if os.geteuid() != 0:
        raise SandboxError(why, where=WHERE, hint=f"run `sudo {command}`, then again")
    log_line(f"{why}: installing {names} with apt-get (about a minute)")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-q"], [*command.split(), "-q", "--no-install-recommends"]):
        done = subprocess.run(
            step, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    if done.returncode:  # an update that misses one of many sources may not matter
        last = " ".join((done.stderr or done.stdout).strip().splitlines()[-1:])
        raise SandboxError(
            f"apt-get could not install {names}: {last}", where=WHERE, hint=f"run `{command}`"
        )


def start_daemon() -> Engine:
    """Start `dockerd` so that it outlives this process, and wait until it answers."""
    if os.geteuid() != 0:
        what = "the container engine is installed but not running"
        raise SandboxError(what, where=WHERE, hint="run `sudo service docker start`")
    bridge = BRIDGE.exists()  # before the first start, which may leave one
    log_line(f"starting dockerd (log: {LOG})")
    if engine := _started():
        return engine
    hint = "read the log; is this a container?"
    if bridge:  # a daemon without a bridge removes the one it finds
        hint = "read the log; to try dockerd without a bridge: `ip link delete docker0`, if no other engine uses it"
    else:
        log_line(
            "starting dockerd without a bridge; a `docker build` by hand then needs --network host"
        )
        if engine := _started(*NO_BRIDGE):
            return engine
    end = " ".join(LOG.read_text(encoding="utf-8", errors="replace")[-200:].split())
    raise SandboxError(f"dockerd does not start: {end}", where=str(LOG), hint=hint)


def _started(*options: str) -> Engine | None:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        daemon = subprocess.Popen(
            ["dockerd", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and daemon.poll() is None:
        with contextlib.suppress(SandboxError):  # it listens already, but does not answer yet
            if engine := find_engine():
                log_line(f"dockerd {engine.facts['version']} answers")
                return engine
        time.sleep(0.3)
    if daemon.poll() is None:
        daemon.terminate()
        daemon.wait(20)
    return None
