"""Packages below sdk/ that no pattern of members names, or that stand at or below a folder of
exclude."""

import tomllib
from fnmatch import fnmatchcase


def expected(world, processes):
    workspace = tomllib.loads(world.text("sdk/Cargo.toml"))["workspace"]
    excluded = [folder.split("/") for folder in workspace["exclude"]]

    def is_member(parts):
        if any(parts[: len(folder)] == folder for folder in excluded):
            return False
        patterns = [pattern.split("/") for pattern in workspace["members"]]
        return any(len(one) == len(parts) and all(map(fnmatchcase, parts, one)) for one in patterns)

    manifests = [path.split("/") for path in world.under("sdk") if path.endswith("/Cargo.toml")]
    return [
        "/".join(path[:-1]) for path in manifests if len(path) > 2 and not is_member(path[1:-1])
    ]
