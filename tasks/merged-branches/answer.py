"""All refs but the branches whose commit is main's or an ancestor of it."""

import zlib

from fluency.world import read_repository


def state(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    found = read_repository(git)
    merged, left = set(), [found["refs/heads/main"]["id"]]
    while left:
        name = left.pop()
        merged.add(name)
        lines = zlib.decompress(git[f"objects/{name[:2]}/{name[2:]}"]).split(b"\n")
        left += [line[7:].decode() for line in lines if line.startswith(b"parent ")]
    refs = {name: one for name, one in found.items() if name.startswith("refs/")}
    gone = {name for name, one in refs.items() if "/heads/" in name and one["id"] in merged}
    gone.remove("refs/heads/main")
    kept = {name: None if name in gone else {"id": one["id"]} for name, one in refs.items()}
    return {".git": {"git": {"HEAD": "refs/heads/main", **kept}}}
