"""How many vox-cell processes each tenant has; a name is the one argument after --tenant."""

from collections import Counter


def expected(world, processes):
    cells = [process.args for process in processes if process.name == "vox-cell"]
    counts = Counter(args[args.index("--tenant") + 1] for args in cells)
    return [f"{count} {tenant}" for tenant, count in counts.items()]
