"""The folders directly in crates/."""


def expected(world, processes):
    below = [path.removeprefix("crates/") for path in world.dirs if path.startswith("crates/")]
    return [name for name in below if "/" not in name]
