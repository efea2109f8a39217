"""Tracked files with the line in the working tree."""

from fluency.world import read_repository


def expected(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    return [
        path
        for path in read_repository(git)["index"]
        if any(line.startswith(b"<<<<<<< ") for line in world.files[path].split(b"\n"))
    ]
