"""Files under examples/ whose content occurs at least twice there."""

from collections import Counter


def expected(world, processes):
    files = world.under("examples")
    copies = Counter(files.values())
    return [path for path, data in files.items() if copies[data] > 1]
