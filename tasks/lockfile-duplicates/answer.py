"""Package names that occur in more than one [[package]] table of Cargo.lock, read with a TOML parser."""

import tomllib
from collections import Counter


def expected(world, processes):
    names = Counter(
        package["name"] for package in tomllib.loads(world.text("Cargo.lock"))["package"]
    )
    return [f"{name} {count}" for name, count in names.items() if count > 1]
