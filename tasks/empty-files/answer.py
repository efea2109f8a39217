"""The reports of no bytes."""


def expected(world, processes):
    return [path for path, data in world.under("reports").items() if len(data) == 0]
