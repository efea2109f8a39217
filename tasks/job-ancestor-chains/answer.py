"""For each process named "vox job" the names from below PID 1 down to it."""

ROOT = 1


def expected(world, processes):
    by_id = {process.pid: process for process in processes}
    chains = []
    for job in processes:
        if job.name == "vox job":
            names, one = [job.name], job
            while one.ppid != ROOT:
                one = by_id[one.ppid]
                names.append(one.name)
            chains.append(" > ".join(reversed(names)))
    return chains
