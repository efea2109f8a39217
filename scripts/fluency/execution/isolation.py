"""Every isolation measure as the engine's HostConfig."""

from contextlib import suppress
from functools import cache
from pathlib import Path

from fluency.common.canonical import canonical_json
from fluency.common.errors import SandboxError
from fluency.common.files import JsonObject, read_json, sha256
from fluency.common.paths import SANDBOX
from fluency.core.study import Limits
from fluency.world.model import WORK_DIR

PROFILE = SANDBOX / "seccomp" / "profile.json"
"""Made by tools/seccomp_profile.py from the files in its folder."""
ENGINE_DEFAULT = "the engine's own"
"""Recorded instead of the profile's hash where the engine does not enforce the project's."""


class MeasureRefused(SandboxError):
    """The engine does not take the project's seccomp profile, or takes it without effect."""


@cache
def profile() -> str:
    """The seccomp profile in canonical JSON."""
    return canonical_json(read_json(PROFILE))


@cache
def profile_sha256() -> str:
    """Of the canonical JSON; every record names it as the engine's `seccomp_profile`."""
    return sha256(profile())


WORLD_MB = 128
SOCKETS_MB = 32
CPU_SHARES = 8192
"""Eight times the weight of the engine's other containers; half of that in version 2."""
# Terminals and queues, which are counted for the whole host; what names the host, its disks and
# devices; the engine's own list, which this one replaces.
MASKED = """\
/dev/pts
/dev/mqueue
/proc/acpi
/proc/asound
/proc/bus
/proc/cmdline
/proc/config.gz
/proc/diskstats
/proc/iomem
/proc/kcore
/proc/keys
/proc/latency_stats
/proc/partitions
/proc/sched_debug
/proc/scsi
/proc/sys/kernel/random/boot_id
/proc/timer_list
/proc/timer_stats
/sys/block
/sys/bus
/sys/class
/sys/dev
/sys/firmware
/sys/hypervisor
""".splitlines()
# PowerShell's garbage collector reads the size of the processor's caches in `system`.
DEVICES = [str(path) for path in Path("/sys/devices").glob("*") if path.name != "system"]
MASKED_BY_PODMAN = ":".join(["mask=/sys/devices", *MASKED])
"""Podman takes no path with a colon, as some devices have."""
Measures = dict[str, JsonObject]
"""Name of each measure -> its part of the engine's HostConfig. Sizes in bytes."""


def isolation(limits: Limits, engine: str = "docker", runtime: str = "") -> Measures:
    """Every measure by name, for an engine (docker or podman).

    A `runtime` other than the engine's default is passed on.
    """
    memory, podman = limits.memory_mb << 20, engine == "podman"
    return {
        "no-network": {"NetworkMode": "none"},
        # Without this the engine copies the host's resolver into the container.
        "no-resolver": {"Dns": ["127.0.0.1"], "DnsSearch": ["."]},
        "read-only-root": {"ReadonlyRootfs": True},
        "few-capabilities": {"CapDrop": ["ALL"], "CapAdd": ["CHOWN", "SETUID", "SETGID", "KILL"]},
        "no-new-privileges": {"SecurityOpt": ["no-new-privileges"]},
        # Podman takes the path of a file instead of the text.
        "seccomp": {"SecurityOpt": [f"seccomp={PROFILE if podman else profile()}"]},
        "pids": {"PidsLimit": limits.pids},
        "memory": {"Memory": memory},
        "no-swap": {"MemorySwap": memory},
        "more-weight": {"CpuShares": CPU_SHARES},
        "no-core-dumps": {"Ulimits": [_ulimit("core", 0)]},
        "file-size": {"Ulimits": [_ulimit("fsize", limits.file_mb << 20)]},
        "open-files": {"Ulimits": [_ulimit("nofile", limits.open_files)]},
        "tmp-size": {"Tmpfs": {"/tmp": _tmpfs(limits.tmpfs_mb, "mode=1777")}},
        # The runner makes HOME in it and changes the owner of the world: not every engine can give
        # a tmpfs an owner.
        "home-size": {"Tmpfs": {"/home": _tmpfs(limits.tmpfs_mb, "mode=0755")}},
        "world-size": {"Tmpfs": {WORK_DIR: _tmpfs(WORLD_MB, "mode=0755")}},
        "no-shared-memory": {"IpcMode": "none"},
        "masked": {"SecurityOpt": [MASKED_BY_PODMAN]}
        if podman
        else {"MaskedPaths": MASKED + DEVICES},
        "no-log-on-the-host": {"LogConfig": {"Type": "none"}},
        "removed-at-its-end": {"AutoRemove": True},
        "runtime": {"Runtime": runtime} if runtime else {},
    }


def container_config(image: str, labels: dict[str, str], measures: Measures) -> JsonObject:
    """The body of the engine's create call.

    It contains nothing of the host: no mount, no variable, no name.
    """
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": "0:0",
        "Env": ["PATH=/usr/bin"],
        "Labels": labels,
        "StopTimeout": 1,  # the runner ends by SIGKILL only
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": host_config(measures),
    }


def bound_sockets(container: str) -> None:
    """Bound the buffers of a container's sockets, which no engine limits.

    Control groups v1 count them apart, version 2 against the container's memory. Has no effect on a
    remote engine, or without the right to do so.
    """
    for folder in Path("/sys/fs/cgroup/memory").glob(f"*/*{container}*"):
        with suppress(OSError):
            (folder / "memory.kmem.tcp.limit_in_bytes").write_text(str(SOCKETS_MB << 20))


def host_config(measures: Measures) -> JsonObject:
    """The measures as one HostConfig: lists are joined, mappings merged, other values set."""
    config: JsonObject = {}
    for part in measures.values():
        for key, value in part.items():
            if isinstance(value, list):
                value = [*config.get(key, []), *value]
            elif isinstance(value, dict):
                value = config.get(key, {}) | value
            config[key] = value
    return config


def _ulimit(name: str, value: int) -> JsonObject:
    return {"Name": name, "Soft": value, "Hard": value}


def _tmpfs(size_mb: int, options: str) -> str:
    return f"rw,nosuid,nodev,noexec,size={size_mb}m,{options}"
