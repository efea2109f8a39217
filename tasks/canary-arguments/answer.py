"""Processes that have --profile=canary among their arguments, by process id."""


def expected(world, processes):
    found = [process for process in processes if "--profile=canary" in process.args]
    return [
        f"{process.pid} {process.name}"
        for process in sorted(found, key=lambda process: process.pid)
    ]
