"""Files under assets/ whose path another file's path equals when case is ignored."""

from collections import Counter


def expected(world, processes):
    files = world.under("assets")
    counts = Counter(path.lower() for path in files)
    return [path for path in files if counts[path.lower()] > 1]
