"""The log's first five lines."""


def expected(world, processes):
    return world.lines("logs/deploy.log")[:5]
