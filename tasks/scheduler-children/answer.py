"""The direct children of the process named vox-sched, from /proc as it was before the command."""


def expected(world, processes):
    (scheduler,) = [process.pid for process in processes if process.name == "vox-sched"]
    return [f"{process.pid} {process.name}" for process in processes if process.ppid == scheduler]
