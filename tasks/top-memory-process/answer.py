"""The vox- process with the largest resident set, from /proc as it was before the command."""


def expected(world, processes):
    own = [process for process in processes if process.name.startswith("vox-")]
    largest = max(own, key=lambda process: process.rss_bytes)
    return [f"{largest.pid} {largest.name}"]
