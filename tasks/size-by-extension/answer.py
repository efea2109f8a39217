"""The number and the bytes of the files under assets/ by extension, in lower case."""

from collections import defaultdict


def expected(world, processes):
    sizes = defaultdict(list)
    for path, data in world.under("assets").items():
        stem, stop, extension = path.rsplit("/", 1)[-1].rpartition(".")
        if stop and stem:
            sizes[extension.lower()].append(len(data))
    return [f"{extension} {len(found)} {sum(found)}" for extension, found in sizes.items()]
