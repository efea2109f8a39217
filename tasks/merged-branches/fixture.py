"""Branches that are merged, and others; the first deleted branch differs with the seed's parity."""

from fluency.world import Commit

WORDS = ("lanes", "peers", "queue", "relay", "store", "drain", "zone")


def extend(builder, rng):
    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    base = dict(builder.files)

    def changed(tree):
        return tree | {"README.md": tree["README.md"] + f"{rng.below(10**6)}\n".encode()}

    one, two = changed(base), base | {"ops.md": b"ops\n"}
    both = one | two
    picked = changed(both)
    commits = [
        Commit("Start", base, 1_760_000_000),
        Commit("Change the page", one, 1_760_010_000, (0,)),
        Commit("Add ops", two, 1_760_020_000, (0,)),
        Commit("Merge ops", both, 1_760_030_000, (1, 2)),
        Commit("Change the page again", picked, 1_760_040_000, (3,)),
        Commit("Change the page again", picked, 1_760_050_000, (3,)),
        Commit("Try it", changed(both), 1_760_060_000, (3,)),
    ]
    words = rng.shuffled(WORDS)
    merged = {"main-menu": 1, "maintenance": 3, f"fix/{words[0]}": 2, f"fix/{words[1]}": 4}
    merged |= {f"topic/{word}": rng.pick((1, 2, 3)) for word in words[2 : 4 - builder.odd]}
    merged["topic/domain"] = 0
    others = {f"topic/{words[4]}": 5, f"fix/{words[5]}": 6, "mainly": 6}
    refs = {f"refs/heads/{name}": at for name, at in {"main": 4, **merged, **others}.items()}
    for path, data in picked.items():
        if path not in builder.files:
            builder.file(path, data)
        builder.files[path] = data
    builder.repository(commits, refs | {"refs/tags/maintenance-1": 3})
