"""The name of the largest backup."""


def expected(world, processes):
    sizes = {path: len(data) for path, data in world.under("backups").items()}
    largest = max(sizes, key=sizes.get)
    return [largest.rsplit("/", 1)[-1]]
