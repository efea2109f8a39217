"""Files with conflict markers: an odd number in odd worlds, an even one in even worlds."""

from fluency.world import Commit

NAMES = ("api.md", "drain.md", "mesh.md", "peers.md", "queue.md", "relay.md", "store.md", "zone.md")


def extend(builder, rng):
    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    files = dict(builder.files)
    texts = {f"guide/{name}": f"Title\n=======\n\nlimit {rng.below(100)}\n" for name in NAMES}
    texts |= {".github/checks.yaml": "checks: 3\n", "guide/old/notes.md": "Old\n"}
    names = rng.shuffled([path for path in texts if path != ".github/checks.yaml"])
    marked = [".github/checks.yaml", *names[: rng.pick((2, 4)) if builder.odd else 3]]
    indented, eight, rest, others = names[5:9]

    def conflict(open_mark):
        one, two = rng.sample(range(100, 999), 2)
        return f"{open_mark}limit {one}\n=======\nlimit {two}\n>>>>>>> topic\n"

    edited = dict(texts)
    for path in marked:
        edited[path] += conflict("<<<<<<< HEAD\n")
    edited[indented] += "Such a line begins a conflict:\n\n    <<<<<<< HEAD\n"
    edited[eight] += "<<<<<<<< HEAD\n"
    edited[rest] += conflict("")
    edited[others] += "<<<<<<<\n"
    for path, text in edited.items():
        builder.file(path, text)
    builder.file("guide/draft.md", conflict("<<<<<<< HEAD\n"))
    tree = files | {path: text.encode() for path, text in texts.items()}
    builder.repository([Commit("Start", tree, 1_760_000_000)], {"refs/heads/main": 0})
