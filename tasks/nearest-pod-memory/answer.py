"""The vox-pod processes by the memory of what has them as its nearest."""


def expected(world, processes):
    by_pid = {process.pid: process for process in processes}
    charged = {process.pid: 0 for process in processes if process.name == "vox-pod"}
    for process in processes:
        at = process
        while at and at.name != "vox-pod":
            at = by_pid.get(at.ppid)
        if at:
            charged[at.pid] += process.rss_bytes
    return [str(pid) for pid in sorted(charged, key=charged.get, reverse=True)]
