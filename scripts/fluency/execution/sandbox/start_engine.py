"""An engine for a machine that has none: installed and started on Debian and Ubuntu as root, elsewhere asked for."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from fluency.common.errors import SandboxError
from fluency.common.paths import CACHE
from fluency.common.terminal import log_line
from fluency.execution.sandbox.engine import WHERE, Engine, find_engine

LOG = CACHE / "dockerd.log"
APPARMOR = Path("/sys/module/apparmor/parameters/enabled")
STARTS_WITHIN_S = 60
# In turn: as it is; with the older of the two packet filters; without a bridge, which no container of ours needs.
WAYS: tuple[tuple[str, ...], ...] = ((), ("legacy-iptables",), ("--iptables=false", "--bridge=none"))


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
    for way in WAYS:
        if way == ("legacy-iptables",):
            if "iptables" not in _log_end() or not Path("/usr/sbin/iptables-legacy").exists():
                continue
            _use_legacy_iptables()
            way = ()
        log_line(f"starting dockerd{' ' if way else ''}{' '.join(way)} (log: {LOG})")
        engine = _started(list(way))
        if engine:
            log_line(f"dockerd {engine.facts['version']} answers")
            return engine
    raise SandboxError(
        f"dockerd does not start: {_log_end(200)}", where=str(LOG), hint="read the log; is this a container?"
    )


def _started(options: list[str]) -> Engine | None:
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        daemon = subprocess.Popen(
            ["dockerd", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and daemon.poll() is None:
        with contextlib.suppress(SandboxError):  # it listens already, but does not answer yet
            if engine := find_engine():
                return engine
        time.sleep(0.3)
    if daemon.poll() is None:
        daemon.terminate()
        daemon.wait(20)
    return None


def _use_legacy_iptables() -> None:
    for name in ("iptables", "ip6tables"):
        subprocess.run(
            ["update-alternatives", "--set", name, f"/usr/sbin/{name}-legacy"], capture_output=True, check=False
        )


def _log_end(length: int = 4000) -> str:
    try:
        return " ".join(LOG.read_text(encoding="utf-8", errors="replace")[-length:].split())
    except OSError:
        return ""
