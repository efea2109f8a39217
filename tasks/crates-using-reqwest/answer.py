"""Crates whose Cargo.toml has a line that begins with reqwest, optional spaces, then = or a full stop."""


def uses_reqwest(line):
    rest = line.removeprefix("reqwest")
    return rest != line and rest.lstrip(" ")[:1] in ("=", ".")


def expected(world, processes):
    return [
        name
        for name in world.crates()
        if any(map(uses_reqwest, world.lines(f"crates/{name}/Cargo.toml")))
    ]
