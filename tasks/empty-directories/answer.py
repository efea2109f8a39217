"""Directories under crates/ that are the parent of nothing."""


def expected(world, processes):
    parents = {path.rpartition("/")[0] for path in (*world.files, *world.dirs)}
    return [path for path in world.dirs if path.startswith("crates/") and path not in parents]
