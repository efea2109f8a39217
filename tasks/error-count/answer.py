"""How many lines of the log hold ERROR."""


def expected(world, processes):
    found = [line for line in world.lines("logs/gateway.log") if "ERROR" in line]
    return [str(len(found))]
