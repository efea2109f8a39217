"""A bundle and its manifest: three files moved in odd worlds, two or four in even ones.

The last one of the manifest is not where it was, for loops that end in a test.
"""

import hashlib
import json

ROOT = "assets/pack"
NAMES = (
    "arrow badge banner bell card chart clock cloud cursor dialog drawer flag gauge globe grid heart label layers map "
    "menu moon pin"
)
FOLDERS = ("icons", "icons/small", "themes/dark", "sounds", "fonts")


def extend(builder, rng):
    names = iter(rng.shuffled(NAMES.split()))
    listed, there = {}, {}

    def content():
        return f"<svg id='{rng.below(10**9)}'>\n" + "<path/>\n" * rng.between(0, 9)

    def add(path, now=None, text=None):
        """A listed file that is now at another path, or is gone where `now` is empty."""
        listed[path] = text or content()
        if now:
            there[now] = listed[path]
        return listed[path]

    def path(name=None):
        return f"{rng.pick(FOLDERS)}/{name or next(names)}.svg"

    kept = [path() for _ in range(rng.between(9, 11))]
    for one in kept:
        add(one, one)
    by_case = next(names)
    add(f"icons/{by_case.title()}.svg", f"icons/{by_case}.svg")
    hidden = path()
    add(hidden, f".cache/{hidden}")
    name, other = next(names), next(names)
    blank = (f"{other} old.svg", f"{rng.pick(FOLDERS)}/{other} new.svg")
    moves = [(f"icons/{name}.svg", f"images/2x/icons/{name}.svg"), blank]
    for old, new in rng.shuffled(moves)[: 1 if builder.odd else rng.pick((0, 2))]:
        add(old, new)
    add(path(), text=listed[kept[0]])
    like = next(names)
    add(f"themes/{like.title()}.svg")
    there[f"themes/{like}.svg"] = content()
    for _ in range(rng.between(1, 2)):
        add(path())
    there[kept[1]] += "<!-- changed -->\n"
    there[f"copies/{kept[2].rsplit('/')[-1]}"] = listed[kept[2]]
    for one in sorted(there):
        builder.file(f"{ROOT}/{one}", there[one])
    files = []
    last = rng.pick(sorted(listed.keys() - there.keys()))
    others = rng.shuffled(sorted(listed.keys() - {last}))
    for number, one in enumerate([*others, last]):
        digest = hashlib.sha256(listed[one].encode()).hexdigest()
        capitals = number % 2 == 0 or one == hidden
        files.append(
            {
                "path": one,
                "size": len(listed[one]),
                "sha256": digest.upper() if capitals else digest,
            }
        )
    builder.file(f"{ROOT}/manifest.json", json.dumps({"files": files}, indent=2) + "\n")
