"""Each host name of the file once."""


def expected(world, processes):
    return list(dict.fromkeys(world.lines("data/hosts.txt")))
