"""The log's last line."""


def expected(world, processes):
    *_, last = world.lines("logs/deploy.log")
    return [last]
