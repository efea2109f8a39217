"""Files under tools/ that hold a carriage return directly before a line feed."""


def expected(world, processes):
    return [path for path, data in world.under("tools").items() if b"\r\n" in data]
