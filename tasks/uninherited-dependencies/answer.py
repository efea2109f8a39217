"""The workspace's dependencies that no crate inherits, by a TOML parser."""

import tomllib

KINDS = ("dependencies", "dev-dependencies", "build-dependencies")


def expected(world, processes):
    inherited = set()
    for crate in world.crates():
        manifest = tomllib.loads(world.text(f"crates/{crate}/Cargo.toml"))
        for part in (manifest, *manifest.get("target", {}).values()):
            for kind in KINDS:
                for name, given in part.get(kind, {}).items():
                    inherited |= (
                        {name} if isinstance(given, dict) and given.get("workspace") else set()
                    )
    declared = tomllib.loads(world.text("Cargo.toml"))["workspace"]["dependencies"]
    return [name for name in declared if name not in inherited]
