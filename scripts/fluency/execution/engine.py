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
from docker.utils import kwargs_from_env

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line

WHERE = "container engine"
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
            return connect(self.options, timeout)
        if not hasattr(self._local, "client"):  # requests' sessions may not be shared between threads
            self._local.client = connect(self.options, timeout)
        client: docker.APIClient = self._local.client
        return client


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
            facts = _facts(client.version(), client.info())
        except Exception as error:
            if _is_about_permission(error):
                forbidden = url
            elif os.environ.get("DOCKER_HOST"):
                raise SandboxError(
                    f"no engine answers there: {first_words(error)}",
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
    """An engine's words on one line, their start: it names what was asked."""
    return " ".join(str(error).split())[:160]


LOG = CACHE / "dockerd.log"
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
STARTS_WITHIN_S = 60
NO_BRIDGE = ("--iptables=false", "--ip6tables=false", "--bridge=none")
"""What starts dockerd where it may not set up packet filters; containers and builds of ours need no bridge."""
BRIDGE = Path("/sys/class/net/docker0")


def ensure_engine() -> Engine:
    """The engine that answers, installed and started if need be; SandboxError says what to run where that cannot be."""
    engine = find_engine()
    if engine:
        return engine
    if os.environ.get("DOCKER_HOST"):
        raise SandboxError("no engine answers", where=WHERE, hint="start the engine DOCKER_HOST names, or unset it")
    if lacking := lacking_packages():
        install(lacking, "no container engine answers")
    return start_daemon()


def lacking_packages() -> list[str]:
    """What an engine needs and this machine lacks: where the kernel has AppArmor, Docker starts nothing without it."""
    packages = [] if shutil.which("dockerd") else ["docker.io", "iptables"]
    with contextlib.suppress(OSError):
        if APPARMOR.read_text(encoding="ascii").startswith("Y") and not shutil.which("apparmor_parser"):
            packages.append("apparmor")
    return packages


def install(packages: list[str], why: str) -> None:
    """Install Debian packages; SandboxError where this is not Debian or Ubuntu, or we are not root."""
    command = f"apt-get install -y {' '.join(packages)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        hint = (
            f"run `sudo {command}`, then again" if shutil.which("apt-get") else "install Docker or Podman and start it"
        )
        raise SandboxError(why, where=WHERE, hint=hint)
    log_line(f"{why}: installing {' '.join(packages)} with apt-get (about a minute)")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-q"], [*command.split(), "-q", "--no-install-recommends"]):
        done = subprocess.run(
            step, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        # An update that misses one of many sources is no reason to stop: the install says whether it mattered.
        if done.returncode and step[1] != "update":
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise SandboxError(
                f"apt-get could not install {' '.join(packages)}: {' '.join(last)}",
                where=WHERE,
                hint=f"run `{command}`",
            )


def start_daemon() -> Engine:
    """Start `dockerd` so that it outlives this process, and wait until it answers."""
    if os.geteuid() != 0:
        raise SandboxError(
            "the container engine is installed but not running", where=WHERE, hint="run `sudo service docker start`"
        )
    bridge = BRIDGE.exists()  # before the first start, which may leave one
    log_line(f"starting dockerd (log: {LOG})")
    if engine := _started():
        return engine
    if bridge:
        raise SandboxError(
            f"dockerd does not start: {_log_end()}",
            where=str(LOG),
            # A daemon without a bridge removes the one it finds.
            hint="read the log; if no other engine uses the bridge, `ip link delete docker0` and run again: "
            "dockerd is then also tried without one",
        )
    log_line("dockerd does not start: starting it without a bridge; a `docker build` by hand then needs --network host")
    if engine := _started(*NO_BRIDGE):
        return engine
    raise SandboxError(
        f"dockerd does not start: {_log_end()}", where=str(LOG), hint="read the log; is this a container?"
    )


def _started(*options: str) -> Engine | None:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        daemon = subprocess.Popen(
            ["dockerd", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
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


def _log_end() -> str:
    try:
        return " ".join(LOG.read_text(encoding="utf-8", errors="replace")[-200:].split())
    except OSError:
        return ""
