"""The requirement of serde in the normal dependencies of each crate, by a TOML parser."""

import tomllib


def expected(world, processes):
    inherited = _requirement(
        tomllib.loads(world.text("Cargo.toml"))["workspace"]["dependencies"]["serde"]
    )
    lines = []
    for crate in world.crates():
        manifest = tomllib.loads(world.text(f"crates/{crate}/Cargo.toml"))
        serde = manifest.get("dependencies", {}).get("serde")
        if serde is not None:
            own = isinstance(serde, str) or not serde.get("workspace")
            lines.append(
                f"{manifest['package']['name']} {_requirement(serde) if own else inherited}"
            )
    return lines


def _requirement(dependency):
    return dependency if isinstance(dependency, str) else dependency["version"]
