"""Processes whose name begins with vox- and their threads named vox-io, by the plan of the
threads."""


def expected(world, processes):
    # Names that are planned once have their threads; the others have no more threads than the main
    # one.
    planned = {helper.name: helper.threads for helper in world.processes if helper.threads}
    lines = []
    for process in processes:
        names = [process.name, *(name or process.name for name in planned.get(process.name, ()))]
        count = names.count("vox-io")
        if process.name.startswith("vox-") and count:
            lines.append(f"{process.pid} {process.name} {count}")
    return lines
