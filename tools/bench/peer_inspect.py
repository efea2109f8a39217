"""Forty commands through Inspect AI's Docker sandbox and through ours, on the same image, in turns, 2 and 8 at a time.

Inspect's containers hold no world, no processes and no service; ours do. Beside both the bare loop `docker run --rm
--network none`. Seconds from the first command to the last; imports are not counted. About four minutes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from fluency.common.errors import UserError
from fluency.common.paths import ROOT
from fluency.core.study import SandboxConfig
from fluency.execution.sandbox import open_sandbox

ROUNDS = 3
AT_A_TIME = (2, 8)
INTEROP = ROOT / ".venv-interop" / "bin" / "python"
LOOPS = {"ours": Path(sys.executable), "inspect": INTEROP, "bare": Path(sys.executable)}
ENGINE = {"dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "docker-proxy", "runc"}
TICK = os.sysconf("SC_CLK_TCK")


def main(small: bool = False) -> dict[str, object]:
    """Wall, processor time and memory of each loop and of the engine under it; medians over the rounds."""
    subprocess.run(["make", "-s", ".venv-interop/.made"], check=True, cwd=ROOT)
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        raise UserError(
            "Inspect AI's sandbox needs `docker compose`",
            where="peer_inspect",
            hint="install Docker's compose plugin (2.21 or newer) and run again",
        )
    rounds = 1 if small else ROUNDS
    image = open_sandbox(SandboxConfig()).image.image_id
    figures: dict[str, object] = {}
    for at_once in AT_A_TIME:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in LOOPS}
        for _ in range(rounds):
            for name in LOOPS:
                found[name].append(turn(name, image, at_once))
        outputs = {one["digest"] for turns in found.values() for one in turns}
        if len(outputs) > 1:
            raise RuntimeError(f"the loops printed different things: {found}")
        for name, turns in found.items():
            for key in ("wall_s", "processor_s", "memory_mb", "engine_processor_s", "engine_memory_mb"):
                figures[f"{at_once} at a time, {name}: {key}"] = round(statistics.median(t[key] for t in turns), 1)
            if name != "ours":
                ratios = [t["wall_s"] / o["wall_s"] for t, o in zip(turns, found["ours"], strict=True)]
                figures[f"{at_once} at a time, {name}: wall as a multiple of ours"] = round(
                    statistics.median(ratios), 2
                )
    return figures


def turn(name: str, image: str, at_once: int) -> dict[str, Any]:
    """One loop in a process of its own, watched from outside."""
    command = [str(LOOPS[name]), "-m", "tools.bench.peer_loops", name, image, str(at_once)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        while (line := process.stdout.readline()) not in ("ready\n", ""):
            pass
        before, watch = engine_processor_s(), Watch(process.pid)
        line = process.stdout.readline()
        after = engine_processor_s()
        watch.end()
    if process.returncode:
        raise RuntimeError(f"the loop {name} failed with exit code {process.returncode}")
    return json.loads(line) | {
        "engine_processor_s": after - before,
        "memory_mb": watch.most["loop"] / 2**20,
        "engine_memory_mb": watch.most["engine"] / 2**20,
    }


class Watch:
    """The most memory (proportional to sharing, bytes) that a loop with all it started, and the engine, had at once."""

    def __init__(self, pid: int) -> None:
        self.most = {"loop": 0, "engine": 0}
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no further."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            seen = processes()
            family = {self._pid}
            for pid in sorted(seen):  # a child's number is the higher one but where numbers begin anew
                if seen[pid]["parent"] in family:
                    family.add(pid)
            groups = {"loop": family, "engine": {pid for pid, facts in seen.items() if facts["name"] in ENGINE}}
            for group, pids in groups.items():
                self.most[group] = max(self.most[group], sum(map(memory_bytes, pids & seen.keys())))


def processes() -> dict[int, dict[str, Any]]:
    """Every process: name, parent, processor seconds, its waited-for children's included."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        words = rest.split()
        seconds = sum(map(int, words[11:15])) / TICK
        found[int(entry.name)] = {"name": name, "parent": int(words[1]), "seconds": seconds}
    return found


def engine_processor_s() -> float:
    """Processor seconds of the engine's lasting processes and of the runtimes they waited for."""
    return sum(facts["seconds"] for facts in processes().values() if facts["name"] in ("dockerd", "containerd"))


def memory_bytes(pid: int) -> int:
    """Proportional set size; a program's shared pages count once over all that share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
