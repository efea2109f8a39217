"""The file as in the last commit, in the tree and in the index; the others as they were."""

import zlib

from fluency.world import read_repository

PATH = "config/limits.toml"


def state(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    found = read_repository(git)
    name = found["refs/heads/main"]["files"][PATH]
    data = zlib.decompress(git[f"objects/{name[:2]}/{name[2:]}"]).partition(b"\0")[2]
    wanted = {key: found[key] for key in ("HEAD", "refs/heads/main")}
    wanted["index"] = found["index"] | {PATH: name}
    others = {**world.under("config"), **world.under("deploy")}
    return others | {PATH: data, ".git": {"git": wanted}}
