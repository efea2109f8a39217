"""Releases whose highest match is neither the last as text nor the highest of all.

The patch number of the crates wanted at 0.0.x is odd in odd worlds and even in even ones.
"""

import json

PAIRS = (
    ("axum", "axum-core"), ("futures", "futures-util"), ("hyper", "hyper-util"), ("rand", "rand_core"),
    ("serde", "serde_json"), ("tokio", "tokio-util"), ("tower", "tower-http"), ("tracing", "tracing-core"),
    ("wasm", "wasm-encoder"), ("winnow", "winnow_ext"), ("zip", "zip-extract"),
)  # fmt: skip


def extend(builder, rng):
    pairs = rng.sample(PAIRS, 8)
    releases, wanted = [], []
    for number, (name, longer) in enumerate(pairs):
        want, versions = (_major, _major, _major, _zero, _zero, _zero, _zeros, _zeros)[number](
            builder, rng
        )
        wanted.append(f"{name} {want}")
        releases += [(name, version, yanked) for version, yanked in versions.items()]
        # What nobody wants, under a name that begins with a wanted one's, and higher than all
        # matches.
        major, minor, patch = (int(part) for part in want.split("."))
        for version in (
            f"{major}.{minor}.{patch + 50}",
            f"{major}.{minor + 30 if major else minor}.{patch + 40}",
        ):
            releases.append((longer, version, False))
    for name in ("libloading", "nom"):
        releases += [
            (name, f"{rng.between(0, 3)}.{minor}.{rng.below(20)}", False) for minor in (3, 9, 12)
        ]
    releases = list(dict.fromkeys(releases))
    lines = [
        json.dumps(
            {"name": name, "vers": version, "yanked": yanked},
            separators=rng.pick(((",", ":"), (", ", ": "))),
        )
        for name, version, yanked in rng.shuffled(releases)
    ]
    builder.file("data/registry.jsonl", "\n".join(lines) + "\n")
    builder.file("ops/wanted.txt", "\n".join(rng.shuffled(wanted)) + "\n")


def _major(builder, rng):
    """Any higher minor or patch of the major matches; the version is true where it is yanked."""
    major, minor, patch = rng.between(1, 4), rng.between(2, 6), rng.between(1, 9)
    top = rng.between(10, 19)
    return f"{major}.{minor}.{patch}", {
        f"{major}.{minor}.{patch}": False,
        f"{major}.9.{rng.between(10, 30)}": False,
        f"{major}.{top}.{rng.between(2, 9)}": False,
        f"{major}.{top}.{rng.between(10, 30)}": False,
        f"{major}.{top + 1}.0-rc.1": False,
        f"{major}.{top + 1}.{rng.between(0, 9)}": True,
        f"{major + 1}.0.{rng.between(0, 9)}": False,
        f"{major}.{minor - 1}.{patch + 20}": False,
        f"{major - 1}.{rng.between(20, 40)}.0": False,
    }


def _zero(builder, rng):
    """The minor is fixed."""
    minor, patch, top = rng.between(2, 9), rng.between(1, 5), rng.between(10, 30)
    return f"0.{minor}.{patch}", {
        f"0.{minor}.{patch}": False,
        f"0.{minor}.9": False,
        f"0.{minor}.{top}": False,
        f"0.{minor}.{top + 1}-beta.{rng.between(1, 4)}": False,
        f"0.{minor}.{top + 2}": True,
        f"0.{minor}.{patch - 1}": False,
        f"0.{minor + 1}.0-alpha.1": False,
        f"0.{minor + 1}.{rng.between(0, 9)}": False,
        f"0.{minor + 10}.{rng.between(0, 9)}": False,
        f"1.0.{rng.between(0, 9)}": False,
    }


def _zeros(builder, rng):
    """Only the version itself matches."""
    patch = 2 * rng.between(1, 3) + builder.odd
    versions = {
        f"0.0.{patch - 1}": False,
        f"0.0.{patch}": False,
        f"0.0.{patch + 1}": False,
        f"0.0.{patch + 2}": False,
    }
    return f"0.0.{patch}", versions | {
        "0.1.0": False,
        f"0.2.{rng.between(1, 9)}": False,
        f"1.{patch}.0": False,
    }
