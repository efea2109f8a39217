"""For each file the author of the newest commit that differs from its parent in it."""

import posixpath

from fluency.world import history


def expected(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    commits = history(git, "refs/heads/main")
    files = [path for path in commits[0]["files"] if posixpath.dirname(path) == "deploy"]

    def author(path):
        pairs = zip(commits, [*commits[1:], {"files": {}}], strict=True)
        newest = next(a for a, b in pairs if a["files"].get(path) != b["files"].get(path))
        return newest["author"].rpartition("<")[2].rstrip(">")

    return [f"{author(path)} {path}" for path in files]
