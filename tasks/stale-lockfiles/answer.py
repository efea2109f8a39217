"""Crate directories whose Cargo.lock is older than their Cargo.toml; a greater age is an earlier modification."""


def expected(world, processes):
    ages = {
        name: [world.ages.get(f"crates/{name}/Cargo.{kind}") for kind in ("lock", "toml")]
        for name in world.crates()
    }
    return [name for name, (lock, toml) in ages.items() if lock is not None and lock > toml]
