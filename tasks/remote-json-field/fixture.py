"""A release from the service, JSON on one line; its version's last part is odd in odd worlds."""

import json


def extend(builder, rng):
    patch = 2 * rng.below(15) + builder.odd
    release = {
        "name": "vox",
        "channel": rng.pick(("beta", "stable")),
        "version": f"{rng.between(1, 4)}.{rng.below(20)}.{patch}",
        "size": rng.below(100_000),
    }
    body = json.dumps(release, separators=(",", ":"))
    builder.route("/release", 200, {"Content-Type": "application/json"}, body.encode())
