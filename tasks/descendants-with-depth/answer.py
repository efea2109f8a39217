"""All descendants of the process named vox-builder and how far below it each is."""


def expected(world, processes):
    (root,) = [process.pid for process in processes if process.name == "vox-builder"]
    depths = {root: 0}
    found = True
    while found:
        found = [
            process for process in processes if process.ppid in depths and process.pid not in depths
        ]
        depths |= {process.pid: depths[process.ppid] + 1 for process in found}
    return [f"{pid} {depth}" for pid, depth in depths.items() if depth]
