"""A Slurm of two node names on this machine, from Debian's packages.

It has no systemd, accounting or control groups.
"""

import contextlib
import os
import signal
import socket
import subprocess
from pathlib import Path

from tests.debian import why_missing
from tests.waiting import wait_for

SYSTEM = Path("/etc/slurm/slurm.conf")
NODES = ("n1", "n2")
CONF = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=5
SchedulerParameters=sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=8000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=8000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why no cluster can be had here; None once its programs are there."""
    if SYSTEM.is_symlink() and "pytest" in str(SYSTEM.readlink()):
        SYSTEM.unlink()  # of a test run that was killed
    if SYSTEM.exists():
        return f"this machine belongs to a cluster already: {SYSTEM} is there"
    if os.geteuid() != 0:
        return "a cluster's daemons are started as root, and this is another user"
    return why_missing(["slurmctld", "slurmd", "munged", "sbatch"], ["slurm-wlm", "munge"])


class Cluster:
    """The running daemons; `environ` is what Slurm's commands need to find them."""

    def __init__(self, folder):
        self._folder = folder
        self.environ = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._daemons = {}

    def start(self):
        """munged, slurmctld and a slurmd for each node, until all nodes are idle."""
        host, ports = socket.gethostname().partition(".")[0], _free_ports(3)
        names = dict(zip(("port", "first", "second"), ports, strict=True))
        (self._folder / "state").mkdir()
        conf = self._folder / "slurm.conf"
        conf.write_text(CONF.format(host=host, folder=self._folder, **names))
        SYSTEM.parent.mkdir(exist_ok=True)
        SYSTEM.symlink_to(conf)  # a job's own srun knows no other place
        self._start("munged", "munged", "--foreground", "--force", *self._munge())
        wait_for(lambda: (self._folder / "munge.socket").exists(), 20)
        self._start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            self._start(node, "slurmd", "-D", "-N", node)
        wait_for(lambda: self.asked("sinfo", "-h", "-o", "%T %D") == "idle 2", 60)

    def _munge(self):
        key = self._folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        named = (f"--{option}={self._folder}/munge.{end}" for option, end in files.items())
        return [f"--key-file={key}", *named]

    def kill_node(self, node):
        """End a node as a power failure would: its daemon, and every process of its jobs."""
        daemon = self._daemons.pop(node)
        jobs = list(self.processes_on(node))
        for process in [daemon.pid, *filter(None, map(_watcher, jobs)), *jobs]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        daemon.wait()

    def revive_node(self, node):
        self._start(node, "slurmd", "-D", "-N", node)

    def processes_on(self, node):
        """Process id -> environment of the jobs on a node."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environ = (folder / "environ").read_bytes()
                if f"SLURMD_NODENAME={node}".encode() in environ.split(b"\0"):
                    found[int(folder.name)] = environ
        return found

    def stop(self):
        with contextlib.suppress(OSError):
            self.asked("scancel", "--state=RUNNING")
        for name in reversed(list(self._daemons)):
            daemon = self._daemons.pop(name)
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        SYSTEM.unlink(missing_ok=True)

    def _start(self, name, *command):
        with (self._folder / f"{name}.out").open("wb") as out:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            environ = os.environ | self.environ
            self._daemons[name] = subprocess.Popen(command, env=environ, **pipes)

    def asked(self, *command):
        pipes = {"capture_output": True, "text": True}
        done = subprocess.run(command, env=os.environ | self.environ, check=False, **pipes)
        return done.stdout.strip()


def _watcher(process):
    """The slurmstepd above a job's process, if that is its parent."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{process}/stat").read_text()
        parent = int(stat.rpartition(")")[2].split()[1])
        if Path(f"/proc/{parent}/cmdline").read_bytes().startswith(b"slurmstepd"):
            return parent
    return None


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
