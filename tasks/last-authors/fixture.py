"""Files with several authors; odd worlds have an odd number of them, even worlds an even one."""

from fluency.world import Commit

AUTHORS = (
    "Ada Lind <ada@vox.example>",
    "Robin Vox <robin@vox.example>",
    "Robin Vox <robin@home.example>",
)
NAMES = ("api.yaml", "mail.yaml", "queue.yaml", "relay.yaml", "store.yaml", "web.yaml", "zone.yaml")


def extend(builder, rng):
    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    files = dict(builder.files)
    names = NAMES if builder.odd else NAMES[:-1]
    paths = [f"deploy/{name}" for name in names]
    below = "deploy/old/api.yaml"
    commits, authors = [], list(AUTHORS)

    def commit(message, changed, author):
        for path in changed:
            files[path] = files.get(path, b"") + f"port: {rng.between(1000, 9999)}\n".encode()
        time = 1_760_000_000 + 9_000 * len(commits) + rng.below(8_000)
        before = (len(commits) - 1,) if commits else ()
        commits.append(Commit(message, dict(files), time, before, author))

    commit("Start", [*paths, below], AUTHORS[0])
    lasts = [authors[number % 3] for number in range(len(paths))]
    for path, last in rng.shuffled(list(zip(paths, rng.shuffled(lasts), strict=True))):
        other = rng.pick([one for one in authors if one != last])
        commit("Change a port", [path], other)
        commit("Change it again", [path], last)
    commit("Change another", [below], AUTHORS[0])
    main = len(commits) - 1
    for path in sorted(files.keys() - builder.files.keys()):
        edited = files[path] + b"port: 1\n" if path == paths[0] else files[path]
        builder.file(path, edited)
    builder.file("deploy/local.yaml", "port: 1\n")
    for author in AUTHORS:
        commit("Try other ports", paths, author)
    refs = {"refs/heads/main": main, "refs/heads/trial": len(commits) - 1}
    builder.repository(commits, refs)
