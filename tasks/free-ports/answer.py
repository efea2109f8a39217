"""For each reservation the lowest port that no process claims."""


def expected(world, processes):
    claimed = set()
    for process in processes:
        for arg, following in zip(process.args, [*process.args[1:], ""], strict=True):
            option, given, value = arg.partition("=")
            if option in ("--port", "--listen"):
                claimed.add((value if given else following).split(":")[-1])
    lines = []
    for line in world.lines("ops/ports.csv"):
        name, first, last = line.split(",")
        ports = [str(port) for port in range(int(first), int(last) + 1)]
        lines.append(f"{name} {next(port for port in ports if port not in claimed)}")
    return lines
