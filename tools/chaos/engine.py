"""A second container engine that may be killed: the machine's engine has other users."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fluency.common.errors import UserError
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import open_sandbox

STARTS_WITHIN_S = 120


def why_no_engine() -> str | None:
    """Why no second engine can be started here; None if it can."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        return "a second engine needs root and dockerd"
    return None


class OwnEngine:
    """A dockerd with its own data, socket and containerd, without a network, that has the sandbox image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/d.sock"
        self._daemon: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        places = f"--data-root {self.folder}/data --exec-root {self.folder}/exec --pidfile {self.folder}/pid"
        # The containerd of a killed one died with it; a process that was not reaped would look alive.
        for stale in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / stale).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            # In the machine's own network, --bridge=none removes docker0 from the machine's engine.
            alone = f"unshare --net dockerd -H {self.url} {places} --bridge=none --iptables=false --ip6tables=false"
            self._daemon = subprocess.Popen(
                alone.split(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + STARTS_WITHIN_S
        while subprocess.run(self._docker("version"), capture_output=True, check=False).returncode:
            if time.monotonic() > deadline or self._daemon.poll() is not None:
                raise UserError(
                    "a second engine does not start",
                    where=f"{self.folder}/log",
                    hint="read the log",
                )
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as the kernel would: no handler runs, its containers are left as they are."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    def stop(self) -> None:
        """End it in order, its containerd too."""
        if self._daemon is None or self._daemon.poll() is not None:
            with contextlib.suppress(
                UserError
            ):  # a killed one left a containerd, which a new one takes over and ends
                self.start()
        if self._daemon is not None:
            self._daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._daemon.wait(60)

    def clear_away(self) -> None:
        """Remove what a killed one left behind: the shims, the mount of its data, the folder."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{self.folder}/exec".encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        unmount = ["umount", "-l", str(self.folder / "data")]  # once for each start that was killed
        while subprocess.run(unmount, capture_output=True, check=False).returncode == 0:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)

    def load_sandbox_image(self) -> None:
        """Copy the sandbox image from the machine's engine."""
        image = open_sandbox(SandboxConfig()).image
        names = subprocess.run(
            ["docker", "image", "inspect", "-f", '{{join .RepoTags " "}}', image.image_id],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        with subprocess.Popen(["docker", "save", *names], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                self._docker("load", "-q"),
                stdin=saved.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
            )

    def _docker(self, *arguments: str) -> list[str]:
        return ["docker", "-H", self.url, *arguments]


@contextlib.contextmanager
def own_engine() -> Iterator[OwnEngine]:
    """An engine with the sandbox image; its data are removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-engine-"))
    engine = OwnEngine(folder)
    try:
        engine.start()
        engine.load_sandbox_image()
        yield engine
    finally:
        engine.stop()
        engine.clear_away()
