"""For each command line that several vox-serve processes share, all of these but the one with the
lowest id."""

from collections import defaultdict


def expected(world, processes):
    groups = defaultdict(list)
    for process in processes:
        if process.name == "vox-serve":
            groups[tuple(process.args)].append(process.pid)
    return [str(pid) for pids in groups.values() for pid in sorted(pids)[1:]]
