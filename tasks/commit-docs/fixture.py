"""Changes below docs/ and outside of it."""

from fluency.world import Commit


def extend(builder, rng):
    def text():
        return f"limit {rng.below(10**6)}\n".encode()

    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    start = dict(builder.files)
    names = ["docs/guide/limits.md", "docs/guide/peers.md", "docs/index.md", "docs-old/index.md"]
    tracked = {path: text() for path in [*names, "ops/api.yaml", "ops/web.yaml"]}
    deleted = {"docs/guide/gone.md": text()}
    edited = rng.sample(names[:3], 2)
    now = tracked | {path: tracked[path] + text() for path in edited}
    now["docs-old/index.md"] += text()
    now["ops/web.yaml"] += text()
    staged = {"ops/api.yaml": tracked["ops/api.yaml"] + text(), "ops/new.yaml": text()}
    now |= staged
    now |= {"docs/added.md": text(), "docs/guide/lanes/added.md": text(), "ops/notes.txt": text()}
    for path, data in now.items():
        builder.file(path, data)
    tree = start | tracked | deleted
    commits = [Commit("Start", start, 1_760_000_000), Commit("Add ops", tree, 1_760_010_000, (0,))]
    builder.repository(commits, {"refs/heads/main": 1}, staged=tree | staged)
