"""Snapshots under apps/ whose test file is not there."""


def expected(world, processes):
    orphans = []
    for path in world.under("apps"):
        *above, folder, name = path.split("/")
        test = "/".join([*above, name.removesuffix(".snap")])
        if folder == "__snapshots__" and name.endswith(".snap") and test not in world.files:
            orphans.append(path)
    return orphans
