"""The packages of the changed files: of each the nearest manifest above it that has one."""

import tomllib


def expected(world, processes):
    packages = {}
    for path in world.files:
        if path.endswith("/Cargo.toml"):
            manifest = tomllib.loads(world.text(path))
            if "package" in manifest:
                packages[path.removesuffix("/Cargo.toml")] = manifest["package"]["name"]
    touched = set()
    for path in world.lines("ops/changed.txt"):
        folder = path
        while "/" in folder and folder not in packages:
            folder = folder.rsplit("/", 1)[0]
        touched |= {packages[folder]} if folder in packages else set()
    return sorted(touched)
