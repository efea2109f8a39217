"""Runs one command in one world, inside the container, and prints one JSON document about it.

It is PID 1, root with CAP_CHOWN, CAP_SETUID, CAP_SETGID and CAP_KILL. Standard input holds the
invocation: a line with the size of a JSON header, the header, and the content of the world's files.
Standard output carries one line that says that the command starts now, then the document, and
nothing else: the command's own streams are pipes that end in the document. Both lines carry the
header's nonce, which the command cannot know.

An `error` in the document is the runner's own failure, `interrupted` a busy machine's; what
the command did wrong is in the other keys.
"""

from __future__ import annotations

import binascii
import fcntl
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command
import processes
import tree
from processes import cgroup

RUNNER_PROTOCOL = 1
# What is reported of each helper.
REPORTED_FIELDS = ("pid", "name", "ppid", "rss_bytes", "args", "threads", "session")


def read_invocation() -> tuple[dict, bytes]:
    """The header and the files' content; reads exactly as many bytes as were announced."""
    source = sys.stdin.buffer
    header = json.loads(source.read(int(source.readline(20))))
    if header["protocol"] != RUNNER_PROTOCOL:
        raise ValueError(
            f"the image speaks protocol {RUNNER_PROTOCOL}, the harness {header['protocol']}"
        )
    return header, source.read(sum(size or 0 for _, size in header["tree"]))


def widen(pipe: int) -> None:
    """Enlarge a pipe's buffer to 1 MiB, unless its user's pipes take all that the kernel allows.

    All of root's pipes on the machine count, those of other programs too (fs.pipe-user-pages-soft).
    """
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass


def start_service(port: int, routes: list[dict]) -> tuple[int, int, int]:
    """Start the HTTP service as its own user: its process id, its ready pipe and its log pipe."""
    ready_read, ready_write = os.pipe()
    log_read, log_write = os.pipe()
    widen(log_read)
    for handle in (log_read, log_write):
        os.set_blocking(handle, False)
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open("/dev/null", os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            os.close(log_read)
            os.setsid()
            # Here, because its imports take longer than everything else the runner does.
            import service

            processes.become_user(processes.USERS["web"][0])
            for route in routes:
                route["body"] = binascii.a2b_base64(route["body"])
            service.serve(port, routes, ready_write, log_write)
        finally:
            os._exit(114)
    os.close(ready_write)
    os.close(log_write)
    return pid, ready_read, log_read


def read_log(handle: int) -> list[dict]:
    """The requests that were answered: about ten thousand, what the pipe holds (see `widen`)."""
    data = b""
    try:
        while piece := os.read(handle, 1 << 16):
            data += piece
    except BlockingIOError:
        pass
    return [json.loads(line) for line in data.splitlines()]


def used_bytes(*folders: str) -> int:
    """Bytes in use in the file systems of these folders."""
    return sum(
        (status.f_blocks - status.f_bfree) * status.f_frsize for status in map(os.statvfs, folders)
    )


def document_of(stream: command.Captured) -> dict:
    """A stream in the document's form."""
    return {"data": binascii.b2a_base64(stream.data, newline=False).decode(), "bytes": stream.total}


def measure(invocation: dict, content: bytes) -> dict:
    """The whole execution; the order of the steps matters."""
    root, routes = invocation["root"], invocation["http"]
    os.umask(0o022)
    os.chmod("/home", 0o755)  # an engine may have given the tmpfs the mode of the image's folder
    processes.write_users()
    command.make_home(invocation["home"])
    os.chown(root, command.UID, command.UID)
    processes.as_user(
        command.UID, tree.write, root, invocation["tree"], content, invocation["ages"]
    )
    tree_before, _ = processes.as_user(command.UID, tree.survey, root)
    server, ready, log = (
        start_service(invocation["port"], routes) if routes is not None else (None, None, None)
    )
    before = processes.start_helpers(invocation["helpers"])
    if server and os.read(ready, 1) != b"1":
        raise RuntimeError("the HTTP service did not start")
    served = processes.running(server) if server else None
    empty = used_bytes("/tmp", command.HOME)
    helpers = [{key: fact[key] for key in REPORTED_FIELDS} for fact in before]
    # After this line a lost result is the command's fault. It cannot suppress the line, since it
    # does not exist yet.
    print(
        json.dumps(
            {"protocol": RUNNER_PROTOCOL, "nonce": invocation["nonce"], "processes": helpers}
        ),
        flush=True,
    )

    ran = command.run(
        [*invocation["argv"], binascii.a2b_base64(invocation["command"])],
        command.environment(invocation["shell"], invocation["tools"]),
        root,
        invocation["timeout_s"],
        invocation["output_bytes"],
    )
    container_cpu_s = processes.processor_s()

    serves = processes.running(server) if server else None
    intact, helpers_ended, left = processes.compared(before)
    if server and not (serves and serves["started"] == served["started"]):
        intact = False
    ended = command.kill_all(ran["child"])
    status, usage = ran["ended"][:2] if ran["ended"] else ended
    for stream in (ran["stdout"], ran["stderr"]):
        for _ in range(64):  # what is still in the pipe, at most its size
            size = stream.total
            if not stream.read() or stream.total == size:
                break
    spawned = ran["spawn_error"] is None
    changes, state = processes.as_user(command.UID, tree.left_behind, root, tree_before)
    return {
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) and spawned else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "timed_out": ran["timed_out"],
        "spawn_error": ran["spawn_error"],
        "stdout": document_of(ran["stdout"]),
        "stderr": document_of(ran["stderr"]),
        "wall_s": round(ran["wall_s"], 6),
        "used": {
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 6),
            "peak_rss_bytes": usage.ru_maxrss * 1024,
            "container_cpu_s": container_cpu_s,
            "peak_memory_bytes": cgroup("memory.peak", "memory/memory.max_usage_in_bytes"),
            "peak_processes": cgroup("pids.peak", "pids/pids.peak"),
            "written_bytes": max(0, used_bytes("/tmp", command.HOME) - empty),
            "oom_killed": bool(
                cgroup("memory.events:oom_kill", "memory/memory.oom_control:oom_kill")
            ),
        },
        "http_requests": read_log(log) if server else [],
        "tree_changed": changes is not None,
        "changes": changes,
        "state": state,
        "leftover": [] if ran["timed_out"] else left,
        "helpers_ended": helpers_ended,
        "helpers_intact": intact,
    }


def main() -> int:
    """Read the invocation, measure, print the document."""
    began = time.monotonic()
    answer: dict = {"protocol": RUNNER_PROTOCOL, "nonce": None}
    try:
        invocation, content = read_invocation()
        answer["nonce"] = invocation["nonce"]
        answer["result"] = measure(invocation, content)
    except command.Interrupted:
        answer["interrupted"] = True
    except BaseException:
        import traceback

        answer["error"] = traceback.format_exc()[-4000:]
    answer["inside_s"] = round(time.monotonic() - began, 6)
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    return 3 if "error" in answer else 0


if __name__ == "__main__":
    os._exit(main())  # without the interpreter's clean-up, which takes 3 ms
