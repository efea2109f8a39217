"""A package.json and a lock that lacks three or five of its packages in odd worlds, four in even."""

import json

NAMES = ("vite", "react", "react-dom", "zod", "lodash", "axios", "dayjs", "clsx", "ajv", "pino")
SCOPED = ("@types/node", "@vox/ui", "@vox/icons", "@tanstack/query")


def extend(builder, rng):
    plain, scoped = rng.shuffled(NAMES[3:]), rng.shuffled(SCOPED)
    # Installed only below another package, and only named like one that is installed.
    nested, alike = plain.pop(), "react"
    gone = [nested, alike, scoped.pop()]
    if builder.odd:
        gone += plain[: rng.pick((0, 2))]
    else:
        gone.append(plain[0])
    everything = [*NAMES, *SCOPED]
    dev = [name for name in everything if rng.chance(40)]
    dev = [gone[2], *(name for name in dev if name not in gone)]

    def ranged(names):
        return {name: f"^{rng.between(1, 9)}.{rng.below(20)}.0" for name in sorted(names)}

    package = {"name": "web", "version": "1.0.0"}
    package["dependencies"] = ranged(name for name in everything if name not in dev)
    package["devDependencies"] = ranged(dev)
    packages = {"": package}
    for name in everything:
        if name not in gone:
            packages[f"node_modules/{name}"] = {"version": f"{rng.between(1, 9)}.{rng.below(20)}.1"}
    packages[f"node_modules/react-dom/node_modules/{nested}"] = {"version": "0.1.0"}
    lock = {"name": "web", "lockfileVersion": 3, "packages": dict(sorted(packages.items()))}
    builder.file("web/package.json", json.dumps(package, indent=2) + "\n")
    builder.file("web/package-lock.json", json.dumps(lock, indent=2) + "\n")
