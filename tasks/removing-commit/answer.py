"""The commit whose parent's file has the line, and its own not."""

import itertools
import zlib

from fluency.world import history


def expected(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}

    def has_line(commit):
        name = commit["files"]["config/mesh.toml"]
        text = zlib.decompress(git[f"objects/{name[:2]}/{name[2:]}"]).partition(b"\0")[2]
        return b"retry_budget = 12" in text.split(b"\n")

    commits = history(git, "refs/heads/main")
    pairs = itertools.pairwise(commits)
    (found,) = (new["id"] for new, old in pairs if has_line(old) and not has_line(new))
    return [found]
