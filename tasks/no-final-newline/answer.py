"""Files under config/services/ that hold something and do not end in a line feed."""


def expected(world, processes):
    return [
        path for path, data in world.under("config/services").items() if data and data[-1:] != b"\n"
    ]
