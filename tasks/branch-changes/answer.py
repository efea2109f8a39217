"""What differs between the branch and the commit where it began, without what is gone."""

from fluency.world import history


def expected(world, processes):
    git = {path.removeprefix(".git/"): data for path, data in world.under(".git").items()}
    main = {commit["id"] for commit in history(git, "refs/heads/main")}
    branch = history(git, "refs/heads/topic/limits")
    parted = next(commit for commit in branch if commit["id"] in main)
    before, after = parted["files"], branch[0]["files"]
    return [path for path, blob in after.items() if before.get(path) != blob]
