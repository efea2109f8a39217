"""A release as one JSON object; its version's last part is odd in odd worlds."""

import json


def extend(builder, rng):
    patch = 2 * rng.below(15) + builder.odd
    release = {
        "name": "vox",
        "channel": rng.pick(("beta", "stable")),
        "version": f"{rng.between(1, 4)}.{rng.below(20)}.{patch}",
        "build": rng.between(1000, 9999),
        "signed": True,
    }
    builder.file("config/release.json", json.dumps(release, indent=2) + "\n")
