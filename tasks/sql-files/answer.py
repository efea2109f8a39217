"""The .sql files at any depth under db/."""


def expected(world, processes):
    return [path for path in world.under("db") if path.endswith(".sql")]
