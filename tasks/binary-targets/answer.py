"""The binaries of tools/*/ by Cargo's rules: those that are declared, and those found that no
declaration names."""

import tomllib


def expected(world, processes):
    lines = []
    for folder in sorted(world.names_in("tools")):
        manifest = tomllib.loads(world.text(f"tools/{folder}/Cargo.toml"))
        package = manifest["package"]
        declared = manifest.get("bin", [])
        names = {table["name"] for table in declared}
        if package.get("autobins", True):
            paths = {table.get("path") for table in declared}
            names |= {
                name for path, name in _found(world, folder, package["name"]) if path not in paths
            }
        lines += [f"{package['name']} {name}" for name in sorted(names)]
    return lines


def _found(world, folder, package):
    for path in world.under(f"tools/{folder}"):
        parts = path.split("/")[2:]
        if parts == ["src", "main.rs"]:
            yield "src/main.rs", package
        elif parts[:2] == ["src", "bin"] and len(parts) == 3 and parts[2].endswith(".rs"):
            yield "/".join(parts), parts[2].removesuffix(".rs")
        elif parts[:2] == ["src", "bin"] and len(parts) == 4 and parts[3] == "main.rs":
            yield "/".join(parts), parts[2]
