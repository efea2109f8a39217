"""New files around 20000 bytes; odd worlds have an odd number of larger ones, even an even one."""

from fluency.world import Commit

NAMES = ("dump.csv", "notes.txt", "peers.json", "queue.csv", "relay.json", "trace.txt", "zone.csv")


def extend(builder, rng):
    builder.clear()
    builder.file("data/all.csv", f"{rng.below(10**6)}\n" * 9000)
    ignores = {".gitignore": "build/\n*.log\n", "capture/.gitignore": "*.tmp\n!keep.log\n"}
    for path, text in ignores.items():
        builder.file(path, text)
    tracked = dict(builder.files)

    def add(path, size):
        builder.file(path, (f"{rng.below(10**6)}\n" * (size // 2))[: size - 1] + "\n")

    names = rng.shuffled(NAMES)
    places = ("", "capture/", "capture/deep/", "fresh/", "fresh/deep/")
    for name in names[: 3 if builder.odd else 2]:
        add(f"{rng.pick(places)}{name}", rng.between(20_600, 40_000))
    for name, size in zip(names[3:], (20_000, 19_999, 20_001, 300), strict=True):
        add(f"{rng.pick(places)}{name}", size)
    add(".profile-dump", rng.between(21_000, 30_000))
    add("capture/keep.log", rng.between(21_000, 30_000))
    for path in ("build/out.csv", "fresh/run.log", "capture/part.tmp"):
        add(path, rng.between(21_000, 30_000))
    builder.repository([Commit("Start", tracked, 1_760_000_000)], {"refs/heads/main": 0})
