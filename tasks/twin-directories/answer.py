"""Directories below assets/themes whose files have the paths and bytes of another one's."""


def expected(world, processes):
    trees = {}
    for folder in world.dirs:
        if folder.startswith("assets/themes/"):
            files = world.under(folder).items()
            tree = frozenset((path.removeprefix(folder), data) for path, data in files)
            trees.setdefault(tree, []).append(folder)
    return [folder for twins in trees.values() if len(twins) > 1 for folder in twins]
