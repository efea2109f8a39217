"""The packages of crates/ that need vox-wire for a build, directly or through others."""

import tomllib


def expected(world, processes):
    needs = {}
    for folder in world.crates():
        manifest = tomllib.loads(world.text(f"crates/{folder}/Cargo.toml"))
        needs[manifest["package"]["name"]] = set(_needed(manifest))
    found = {"vox-wire"}
    while more := {name for name, needed in needs.items() if needed & found} - found:
        found |= more
    return sorted(found - {"vox-wire"})


def _needed(manifest):
    for part in (manifest, *manifest.get("target", {}).values()):
        for kind in ("dependencies", "build-dependencies"):
            for key, how in part.get(kind, {}).items():
                yield how.get("package", key) if isinstance(how, dict) else key
