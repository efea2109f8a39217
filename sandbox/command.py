"""The command: started as an unprivileged user, read while it writes, ended with all it started."""

from __future__ import annotations

import os
import select
import signal
import time

from processes import (
    USERS,
    all_processes,
    as_user,
    become_user,
    is_kept_waiting,
    processor_s,
    reaped,
)

UID, HOME = USERS["agent"]
NICENESS = 19
DRAIN_S, KILL_S = 0.5, 2.0
LOOKS, LOOK_S, PATIENCE = 10, 0.01, 4
TOOLS = "/opt/tools/bin"
EVERYWHERE = "/opt/everywhere"


def environment(shell: str, tools: bool) -> dict[str, str]:
    """All variables that the command sees; only the folder of the shell differs between shells."""
    return {
        "PATH": f"{TOOLS}:/opt/tools/{shell}" if tools else EVERYWHERE,
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "POWERSHELL_TELEMETRY_OPTOUT": "1",
        "POWERSHELL_UPDATECHECK": "Off",
        "DOTNET_EnableDiagnostics": "0",
    }


class Interrupted(Exception):
    """The machine was too busy with other work to say whether the time was enough."""


class Deadline:
    """A time limit that other work on the machine does not use up.

    At the end of the seconds they are used up if the container had half of them as processor time,
    or if `LOOKS` more looks find no thread that is kept waiting than find one. Until then the limit
    is extended, up to `PATIENCE` times the seconds.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.used, self.idle = seconds, processor_s(), 0
        self.until = time.monotonic() + seconds
        self.last = self.until + seconds * (PATIENCE - 1)

    def left(self) -> float:
        """Seconds to the limit or to the next look."""
        return self.until - time.monotonic()

    def over(self) -> bool:
        """Whether the time is used up; Interrupted if the last extension has passed, too."""
        if self.left() > 0:
            return False
        if self.used is None or processor_s() - self.used >= self.seconds / 2:
            return True
        self.idle = max(0, self.idle + (-1 if is_kept_waiting() else 1))
        self.until = time.monotonic() + LOOK_S
        if self.idle < LOOKS and self.until > self.last:
            raise Interrupted
        return self.idle == LOOKS


class Captured:
    """A stream's first bytes, and how many bytes it had."""

    def __init__(self, handle: int, limit: int) -> None:
        self.handle, self.limit, self.total, self.data = handle, limit, 0, bytearray()
        os.set_blocking(handle, False)

    def read(self) -> bool:
        """Read what is available; False at the end of the stream."""
        try:
            piece = os.read(self.handle, 1 << 18)
        except BlockingIOError:
            return True
        self.total += len(piece)
        self.data += piece[: max(0, self.limit - len(self.data))]
        return bool(piece)


def make_home(files: dict[str, str]) -> None:
    """Make HOME with its files (path in it -> text), in a tmpfs that belongs to the runner."""
    os.mkdir(HOME, 0o700)
    os.chown(HOME, UID, UID)
    as_user(UID, _write, files)


def _write(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = os.path.join(HOME, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)


def run(argv: list, variables: dict[str, str], root: str, timeout_s: float, limit: int) -> dict:
    """Run the command in the folder `root`; `argv` is the program's path, options, the command.

    Kills nothing: the caller reads /proc before it calls `kill_all`. Returns child (process id),
    ended (status, usage, seconds; None at the deadline), timed_out, spawn_error, wall_s, stdout and
    stderr (Captured).
    """
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    why_read, why_write = os.pipe()
    wake_read, wake_write = os.pipe()
    for handle in (wake_read, wake_write):
        os.set_blocking(handle, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)

    ended, deadline, began = None, Deadline(timeout_s), time.monotonic()
    child = os.fork()
    if child == 0:
        _become_command(argv, variables, root, out_write, err_write, why_write)
    for handle in (out_write, err_write, why_write):
        os.close(handle)
    spawn_error = os.read(why_read, 1000).decode("utf-8", "replace") or None

    stdout, stderr = Captured(out_read, limit), Captured(err_read, limit)
    open_streams = {out_read: stdout, err_read: stderr}
    poll = select.poll()
    for handle in (wake_read, *open_streams):
        poll.register(handle, select.POLLIN)
    while True:
        for pid, status, usage in reaped():
            if pid == child:
                ended = (status, usage, time.monotonic() - began)
                deadline = Deadline(DRAIN_S)
            if deadline.left() <= 0:
                break
        if (ended and not open_streams) or deadline.over():
            break
        for handle, _ in poll.poll(max(0, deadline.left()) * 1000 + 1):
            if handle == wake_read:
                os.read(wake_read, 4096)
            elif not open_streams[handle].read():
                poll.unregister(handle)
                del open_streams[handle]
    return {
        "child": child,
        "ended": ended,
        "timed_out": ended is None,
        "spawn_error": spawn_error,
        "wall_s": ended[2] if ended else time.monotonic() - began,
        "stdout": stdout,
        "stderr": stderr,
    }


def _become_command(
    argv: list, variables: dict[str, str], root: str, out: int, err: int, why: int
) -> None:
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        for here, stream in ((null, 0), (out, 1), (err, 2)):
            os.dup2(here, stream)
        os.dup2(why, 3, inheritable=False)
        os.closerange(4, 256)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        # The out-of-memory killer takes the command first, unless it undoes this.
        with open("/proc/self/oom_score_adj", "w") as stream:
            stream.write("1000")
        os.nice(NICENESS)  # so that a storm of processes does not hold up the runner
        become_user(UID)
        os.chdir(root)
        # argv[0] is the bare name: a shell's messages begin with it.
        os.execve(argv[0], [os.path.basename(argv[0]), *argv[1:]], variables)
    except BaseException as error:
        os.write(3, (getattr(error, "strerror", None) or repr(error)).encode()[:900])
    finally:
        os._exit(126)


def kill_all(child: int) -> tuple | None:
    """Kill and reap every process except the runner.

    Returns the command's (status, usage) if it ended by this.

    PID 1 signals -1: the kernel does that under one lock, so no fork escapes, as it could with a
    list of ids.
    """
    command_end, deadline = None, Deadline(KILL_S)
    while not deadline.over():
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for pid, status, usage in reaped():
            if pid == child:
                command_end = (status, usage)
        # The helpers and the service are killed too, but nothing waits until their memory is freed.
        if not any(uid == UID for _, uid in all_processes()):
            return command_end
        time.sleep(0.001)
    raise TimeoutError("its processes do not end when they are killed")
