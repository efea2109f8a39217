"""The bytes of the files in each direct subdirectory of target/, as `NAME BYTES`, largest first."""


def expected(world, processes):
    folders = [path for path in world.dirs if path.startswith("target/") and path.count("/") == 1]
    sizes = {folder: sum(map(len, world.under(folder).values())) for folder in folders}
    return [
        f"{path.removeprefix('target/')} {sizes[path]}"
        for path in sorted(folders, key=sizes.get, reverse=True)
    ]
