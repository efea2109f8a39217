"""A file with a staged and a further change, among others."""

from fluency.world import Commit


def extend(builder, rng):
    def line():
        return f"limit_{rng.below(100)} = {rng.below(10**6)}\n".encode()

    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    start = dict(builder.files)
    ours, both, other, alike = (
        "config/limits.toml",
        "config/queue.toml",
        "config/relay.toml",
        "deploy/limits.toml",
    )
    first = {path: line() for path in (ours, both, other, alike)}
    last = first | {path: first[path] + line() for path in (ours, other)}
    staged = last | {path: last[path] + line() for path in (ours, both)}
    now = staged | {path: staged[path] + line() for path in (ours, both, other, alike)}
    for path, data in now.items():
        builder.file(path, data)
    commits = [
        Commit("Start", start | first, 1_760_000_000),
        Commit("Add limits", start | last, 1_760_010_000, (0,)),
    ]
    refs = {"refs/heads/main": 1, "refs/heads/config": 0}
    builder.repository(commits, refs, staged=start | staged)
