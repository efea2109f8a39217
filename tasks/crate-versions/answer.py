"""Name and version of every crate whose [package] table has a literal version, read with a TOML parser."""

import tomllib


def expected(world, processes):
    packages = [
        tomllib.loads(world.text(f"crates/{name}/Cargo.toml"))["package"] for name in world.crates()
    ]
    return [
        f"{package['name']} {package['version']}"
        for package in packages
        if isinstance(package["version"], str)
    ]
