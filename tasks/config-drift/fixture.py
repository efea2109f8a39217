"""Default and production settings: nine leaves that differ, each in another way, in files of
another order.

The last of the sorted paths is one of them, so that a loop that ends in a test ends with status 0.
"""

import json
from copy import deepcopy

SECTIONS = ("auth", "mesh", "queue", "search", "server", "storage")


def extend(builder, rng):
    sections = rng.sample(SECTIONS, 4)
    old = {section: _section(rng) for section in sections}
    old |= {"use_cache": True, "release": "0.5.0", "threads": rng.between(2, 32)}
    new = deepcopy(old)

    def drawn(settings):
        return settings[rng.pick(sections)]

    off = rng.pick(sections)
    old[off]["enabled"], new[off]["enabled"] = False, True
    limits = drawn(new)["limits"]
    limits["max"] = str(limits["max"])
    drawn(new)["log"]["level"] = "INFO"
    drawn(new)["timeout_ms"] += rng.between(1, 500)
    drawn(new)["log"]["sink"]["compress"] = False
    new["use_cache"] = False
    del drawn(new)["limits"]["mode"]
    added = rng.pick(sections)
    del old[added]["log"]["sink"]["rotate"]
    new[added]["log"]["sink"]["rotate"] = False
    if builder.odd:
        drawn(old)["trial"] = False
    else:
        new["region"] = rng.pick(("eu-north", "eu-west"))
    builder.file("config/defaults.json", json.dumps(old, indent=2) + "\n")
    builder.file("config/production.json", json.dumps(_shuffled(rng, new), indent=4) + "\n")


def _section(rng):
    return {
        "enabled": True,
        "timeout_ms": rng.between(10, 90) * 100,
        "retries": rng.between(0, 5),
        "limits": {
            "max": rng.between(16, 512),
            "mode": rng.pick(("soft", "strict")),
            "burst": rng.between(1, 64),
        },
        "log": {"level": "info", "sink": {"rotate": rng.chance(50), "compress": True}},
    }


def _shuffled(rng, value):
    if not isinstance(value, dict):
        return value
    return {key: _shuffled(rng, value[key]) for key in rng.shuffled(list(value))}
