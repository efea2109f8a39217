"""Crate directories with a Cargo.toml and without a README.md beside it."""


def expected(world, processes):
    return [name for name in world.crates() if f"crates/{name}/README.md" not in world.files]
