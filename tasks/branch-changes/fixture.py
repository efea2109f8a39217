"""A branch that changes an odd number of files in odd worlds, an even one in even worlds."""

from fluency.world import Commit

NAMES = ("README.md", "queue.toml", "relay.toml", "mesh.toml", "store.toml", "drain.toml")


def extend(builder, rng):
    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    base = dict(builder.files)
    for name in NAMES:
        base[f"ops/{name}"] = f"# {name}\nlimit = {rng.below(1000)}\n".encode()
    base["ops/Notes.md"] = base["ops/notes.md"] = b"limits\n"

    def edited(tree, *paths, gone=()):
        added = {
            path: tree.get(path, b"") + f"limit = {rng.between(1000, 9999)}\n".encode()
            for path in paths
        }
        return {path: data for path, data in (tree | added).items() if path not in gone}

    queue, relay, mesh, store, drain = (f"ops/{name}" for name in NAMES[1:])
    new = [f"ops/new/{name}" for name in rng.sample(NAMES, 3 if builder.odd else 4)]
    first = edited(base, queue, "ops/Notes.md", *new)
    tried = edited(first, relay, "ops/notes.md", gone=(mesh,))
    topic = tried | {relay: base[relay]}
    main = edited(base, store, "ops/main.toml")
    other = edited(base, drain)
    commits = [
        Commit("Start", base, 1_760_000_000),
        Commit("Limit the queue", first, 1_760_010_000, (0,)),
        Commit("Limit the relay", tried, 1_760_020_000, (1,)),
        Commit("Do not limit the relay", topic, 1_760_030_000, (2,)),
        Commit("Limit the store", main, 1_760_040_000, (0,)),
        Commit("Limit the drain", other, 1_760_050_000, (4,)),
    ]
    refs = {"main": 4, "topic/limits": 3, "topic/limits-2": 5}
    for path in sorted(main.keys() - builder.files.keys()):
        builder.file(path, main[path])
    builder.repository(commits, {f"refs/heads/{name}": at for name, at in refs.items()})
