"""The argument vector of each vox-task, its name first."""


def expected(world, processes):
    tasks = [process for process in processes if process.name == "vox-task"]
    return [{"pid": task.pid, "argv": [task.name, *task.args]} for task in tasks]
