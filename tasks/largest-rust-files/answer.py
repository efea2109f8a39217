"""The five largest .rs files under crates/, as `SIZE path`, largest first."""


def expected(world, processes):
    sizes = [
        (len(data), path) for path, data in world.under("crates").items() if path.endswith(".rs")
    ]
    return [f"{size} {path}" for size, path in sorted(sizes, reverse=True)[:5]]
