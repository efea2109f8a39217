"""The vox-job processes whose parent is not the process that --supervisor names."""


def expected(world, processes):
    jobs = [process for process in processes if process.name == "vox-job"]
    return [
        str(job.pid)
        for job in jobs
        if int(job.args[job.args.index("--supervisor") + 1]) != job.ppid
    ]
