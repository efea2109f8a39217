"""What the engine is told about a container: the isolation measures, each under its own name.

One function, so that a test can take a single measure away and show that it was holding something back.
"""

from __future__ import annotations

from typing import Any

from fluency.core.study import Limits
from fluency.execution.sandbox.seccomp import security_option
from fluency.world.model import WORK_DIR

WORLD_MB = 128
Measures = dict[str, dict[str, Any]]
"""Name of each measure -> the part of the engine's HostConfig that puts it into force. Sizes in bytes."""


def isolation(limits: Limits, engine: str = "docker") -> Measures:
    """Every measure, with the sizes of the limits, for an engine by its name."""
    memory = limits.memory_mb << 20
    return {
        "no-network": {"NetworkMode": "none"},
        # The engine would copy the host's resolver into the container, although there is nobody to ask.
        "no-resolver": {"Dns": ["127.0.0.1"], "DnsSearch": ["."]},
        "read-only-root": {"ReadonlyRootfs": True},
        "few-capabilities": {"CapDrop": ["ALL"], "CapAdd": ["CHOWN", "SETUID", "SETGID", "KILL"]},
        "no-new-privileges": {"SecurityOpt": ["no-new-privileges"]},
        "seccomp": {"SecurityOpt": [security_option(engine)]},
        "pids": {"PidsLimit": limits.pids},
        "memory": {"Memory": memory},
        "no-swap": {"MemorySwap": memory},
        "no-core-dumps": {"Ulimits": [_ulimit("core", 0)]},
        "file-size": {"Ulimits": [_ulimit("fsize", limits.file_mb << 20)]},
        "open-files": {"Ulimits": [_ulimit("nofile", limits.open_files)]},
        "tmp-size": {"Tmpfs": {"/tmp": _tmpfs(limits.tmpfs_mb, "mode=1777")}},
        # The runner makes HOME in it and gives away the world: not every engine can give a tmpfs to a user.
        "home-size": {"Tmpfs": {"/home": _tmpfs(limits.tmpfs_mb, "mode=0755")}},
        "world-size": {"Tmpfs": {WORK_DIR: _tmpfs(WORLD_MB, "mode=0755")}},
        "no-shared-memory": {"IpcMode": "none"},
        # What the kernel keeps for processes that have ended counts against the container's memory, and nobody is left
        # whom the out-of-memory killer could take for it.
        "no-sysv-memory": {"Sysctls": {"kernel.shmmni": "0", "kernel.shmall": "0", "kernel.shmmax": "0"}},
        "sysv-memory-ends-with-its-user": {"Sysctls": {"kernel.shm_rmid_forced": "1"}},
        "no-sysv-queues": {"Sysctls": {"kernel.msgmni": "0"}},
        "no-sysv-semaphores": {"Sysctls": {"kernel.sem": "0 0 0 0"}},
        "no-posix-queues": {"Sysctls": {"fs.mqueue.queues_max": "0"}},
        "no-bytes-in-posix-queues": {"Ulimits": [_ulimit("msgqueue", 0)]},
        "no-log-on-the-host": {"LogConfig": {"Type": "none"}},
        "removed-at-its-end": {"AutoRemove": True},
    }


def without_sysctls(measures: Measures) -> Measures:
    """The measures that are left on an engine that may not set the kernel's limits of a container."""
    return {name: part for name, part in measures.items() if "Sysctls" not in part}


def container_config(image: str, labels: dict[str, str], measures: Measures) -> dict[str, Any]:
    """The body of the engine's create call. Nothing of the host goes in: no mount, no variable, no name."""
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": "0:0",
        "Env": ["PATH=/usr/bin"],
        "Labels": labels,
        "StopTimeout": 1,  # the runner heeds no signal but the last
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": host_config(measures),
    }


def host_config(measures: Measures) -> dict[str, Any]:
    """The measures as one HostConfig: lists are joined, mappings merged, anything else stands for itself."""
    config: dict[str, Any] = {}
    for part in measures.values():
        for key, value in part.items():
            if isinstance(value, list):
                config[key] = [*config.get(key, []), *value]
            elif isinstance(value, dict):
                config[key] = {**config.get(key, {}), **value}
            else:
                config[key] = value
    return config


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


def _tmpfs(size_mb: int, options: str) -> str:
    return f"rw,nosuid,nodev,noexec,size={size_mb}m,{options}"
