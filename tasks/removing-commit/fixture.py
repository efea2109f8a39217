"""A line that one commit adds and another removes, with much that looks like it before and after."""

from fluency.world import Commit

LINE = "retry_budget = 12"


def extend(builder, rng):
    builder.clear()
    builder.file("README.md", "# Mesh\n")
    builder.file("src/main.rs", "fn main() {}\n")
    base = dict(builder.files)
    mesh, relay = [f"peers = {rng.between(3, 99)}"], [f"depth = {rng.below(100)}", LINE]
    commits = []

    def commit(message):
        files = {"config/mesh.toml": mesh, "config/relay.toml": relay}
        texts = {path: ("\n".join(lines) + "\n").encode() for path, lines in files.items()}
        time = 1_760_000_000 + 9_000 * len(commits) + rng.below(8_000)
        before = (len(commits) - 1,) if commits else ()
        commits.append(Commit(message, base | texts, time, before))
        return texts

    commit("Start")
    mesh.append(f"window = {rng.below(100)}")
    commit("Add a window")
    mesh[1:1] = [LINE]
    commit("Budget the retries")
    for _ in range(rng.between(1, 3)):
        mesh[0] = f"peers = {rng.between(100, 999)}"
        commit("Tune the peers")
    mesh.remove(LINE)
    mesh.append(f"lanes = {rng.below(100)}")
    commit("Simplify the mesh")
    later = [
        lambda: mesh.append(f"{LINE}0"),
        lambda: mesh.append(f"# {LINE}"),
        lambda: mesh.extend(["[lanes]", f"  {LINE}"]),
        lambda: mesh.append(LINE.capitalize()),
        lambda: relay.remove(LINE),
    ]
    for change in rng.shuffled(later):
        change()
        texts = commit("Tune it")
    mesh.remove(LINE.capitalize())
    texts = commit("Tune it again")
    removed = {**commits[2].files, "config/mesh.toml": b"peers = 1\n"}
    main = len(commits) - 1
    commits.append(Commit("Try without", removed, 1_760_900_000, (2,)))
    for path, data in texts.items():
        builder.file(path, data)
    builder.repository(commits, {"refs/heads/main": main, "refs/heads/trial": main + 1})
