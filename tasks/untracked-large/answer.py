"""Files that are neither in the index nor named by the rules of this world's .gitignore files."""

from fluency.world import read_repository


def expected(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    tracked = read_repository(git)["index"]

    def ignored(path):
        is_log = path.endswith(".log") and path != "capture/keep.log"
        is_part = path.startswith("capture/") and path.endswith(".tmp")
        return is_log or is_part or path.startswith(("build/", ".git/"))

    return [
        path
        for path, data in world.files.items()
        if path not in tracked and not ignored(path) and len(data) > 20_000
    ]
