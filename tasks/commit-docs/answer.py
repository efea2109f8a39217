"""The new commit, the index with what was staged, and all files as they were."""

from fluency.world import blob_name, read_repository


def state(world, processes):
    found = read_repository(
        {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    )
    old = found["refs/heads/main"]

    def with_docs(tree):
        kept = {path: blob for path, blob in tree.items() if not path.startswith("docs/")}
        return kept | {path: blob_name(data) for path, data in world.under("docs").items()}

    commit = {
        "message": "Update the docs",
        "parents": [old["id"]],
        "files": with_docs(old["files"]),
    }
    git = {
        "HEAD": "refs/heads/main",
        "refs/heads/main": commit,
        "index": with_docs(found["index"]),
    }
    folders = ("docs", "docs-old", "ops")
    files = {path: data for folder in folders for path, data in world.under(folder).items()}
    return files | {"docs/guide/gone.md": None, ".git": {"git": git}}
