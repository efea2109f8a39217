"""Processes whose name begins with vox- and that have more than two threads, by number of
threads."""


def expected(world, processes):
    busy = [
        process for process in processes if process.name.startswith("vox-") and process.threads > 2
    ]
    return [
        f"{process.pid} {process.threads}"
        for process in sorted(busy, key=lambda process: -process.threads)
    ]
